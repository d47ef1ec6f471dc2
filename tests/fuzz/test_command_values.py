"""Command lines of every unlikely kind: understood, or refused in one line."""

import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots.cli.app import app
from fewknots.cli.running import run

SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
words = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "-", "--", "-1", "nan", "inf", "1e999", "9" * 40, "/", "..", "*", "[", "\0"]
    ),
)
options = st.sampled_from(
    [
        "--target", "--positive", "--kernel", "--inducing", "--method", "--likelihood",
        "--max-time", "--holdout", "--seed", "--features", "--drop", "--text", "--weight",
        "--device", "--nonsense",
    ]
)  # fmt: skip
# (a model, unlike these, is never named by chance: nothing here can succeed and take long)
commands = st.sampled_from(["fit", "predict", "evaluate", "inspect", "export", "report", "fot", ""])


def _refused(arguments, capfd, out):
    """Run it where nothing can come of it; what it said."""
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run(app, arguments)
    said = capfd.readouterr().err
    assert code in (1, 2), (arguments, said)
    assert "Unexpected" not in said, (arguments, said)
    assert "Traceback" not in said
    assert said.count("\n") == 1, (arguments, said)
    assert list(out.iterdir()) == []
    return said


@SETTINGS
@given(command=commands, given=st.lists(words, min_size=1, max_size=4))
def test_any_words(tmp_path, monkeypatch, capfd, command, given):
    monkeypatch.chdir(tmp_path)
    refusing = ["--nothing-is-called-this"] if "--help" in given else []
    _refused([command, *given, *refusing], capfd, tmp_path)


@SETTINGS
@given(pairs=st.lists(st.tuples(options, words), max_size=4))
def test_any_values_of_fit(tmp_path, monkeypatch, capfd, pairs):
    monkeypatch.chdir(tmp_path)
    # one label: whatever the options say, there is no fit
    table = tmp_path.parent / "one.csv"
    table.write_text("a,y\n1,x\n2,x\n3,x\n")
    given = [word for pair in pairs for word in pair]
    _refused(["fit", str(table), *given, "--target=y"], capfd, tmp_path)


@pytest.mark.parametrize("path", ["m\0", "x" * 5000, "/dev/null", "/", "", "."])
def test_paths_that_lead_nowhere(tmp_path, monkeypatch, capfd, path):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["inspect", path],
        ["predict", path, path],
        ["fit", path, "-t", "y"],
        ["evaluate", path, path],
    ):
        _refused(arguments, capfd, tmp_path)
