"""Options of the compiler: those of fewknots, unless the user has set them."""

from fewknots.numerics.precision import _known_options


def test_flags_of_the_user_stay(monkeypatch):
    options = _known_options.__wrapped__
    monkeypatch.delenv("XLA_FLAGS")
    found = options("cpu")
    assert found  # which ones depends on the version of XLA
    for name in found:
        monkeypatch.setenv("XLA_FLAGS", f"--{name}=1")
        assert set(options("cpu")) == set(found) - {name}
