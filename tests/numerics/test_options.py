"""Options of the compiler: those of fewknots, unless the user has set them."""

from fewknots.numerics.precision import _known_options

PARTS, LOOPS = "xla_cpu_parallel_codegen_split_count", "xla_cpu_use_fusion_emitters"


def test_a_flag_of_the_user_stays(monkeypatch):
    options = _known_options.__wrapped__
    monkeypatch.delenv("XLA_FLAGS")
    assert set(options("cpu")) == {PARTS, LOOPS}
    monkeypatch.setenv("XLA_FLAGS", f"--{PARTS}=1")
    assert set(options("cpu")) == {LOOPS}
