"""The command as a process of its own: start-up, pipes, terminals, Ctrl-C, completion."""

import array
import fcntl
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios

import numpy as np
import pandas as pd
import pytest
import typer

from fewknots import load
from fewknots.cli import running

from ..waiting import HANGS, wait_until

COMMAND = [sys.executable, "-m", "fewknots"]


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        timeout=HANGS,
        **({"text": True} | options),
    )


def test_help_needs_nothing_heavy():
    script = (
        "import sys; sys.argv = ['fewknots', '--help']\n"
        "from fewknots.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'jax', 'sklearn', 'scipy', 'numpy', 'pyarrow', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for command in ("fit", "predict", "evaluate", "report", "inspect", "export", "reproduce"):
        assert command in done.stdout


def test_help_within_a_second():
    # Its own seconds, as other tests may keep the cores busy; the best of a few.
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 1.0


def test_exit_codes(home):
    assert run("--version").returncode == 0
    assert run().returncode == 0  # help
    wrong = run("fit")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.count("\n") == 1
    missing = run("inspect", home / "none.fewknots")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.count("\n") == 1
    assert "none.fewknots" in missing.stderr


def test_standard_input_and_pipes(home):
    rows = (home / "later.csv").read_bytes()
    done = run("evaluate", home / "m.fewknots", "-", "--json", input=rows, text=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 100
    assert done.stderr == b""  # no progress in a pipe


def test_a_reader_that_has_seen_enough(home):
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["predict", str(home / "m.fewknots"), str(home / "new.csv")]
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run([*COMMAND, *arguments], stdout=pipe, stderr=subprocess.PIPE)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_progress_on_a_terminal(home, tmp_path):
    ours, theirs = pty.openpty()
    arguments = ["fit", home / "flights.csv", "-t", "late", "--inducing", 8, "--max-time", 1]
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--out", str(tmp_path / "m.fewknots"), "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the other end is closed
        pass
    out, _ = process.communicate(timeout=HANGS)
    os.close(ours)
    assert process.returncode == 0
    assert b"iteration" in shown
    assert json.loads(out)["interrupted"] is False  # and none of it among the results


def started(*arguments, on_ctrl_c="default_int_handler", **environment):
    """As from a terminal, where Ctrl-C is heard; a background job ignores it."""
    script = (
        f"import signal; signal.signal(signal.SIGINT, signal.{on_ctrl_c})\n"
        "from fewknots.cli import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 2))
    label = np.where(X[:, 0] ** 2 + X[:, 1] > rng.normal(size=len(X)), "in", "out")
    path = tmp_path_factory.mktemp("rows") / "t.parquet"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": label}).to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("on_ctrl_c", "sent", "code"),
    [
        ("default_int_handler", signal.SIGINT, 130),
        ("default_int_handler", signal.SIGTERM, 143),
        ("SIG_IGN", signal.SIGTERM, 143),
    ],
)
@pytest.mark.slow
def test_a_signal_leaves_a_model_and_a_checkpoint(many_rows, tmp_path, on_ctrl_c, sent, code):
    model, folder = tmp_path / "m.fewknots", tmp_path / "m.fewknots.checkpoint"
    arguments = ["fit", many_rows, "-t", "y", "--inducing", 10, "--out", model]
    process = started(*arguments, "--max-time", 100_000, on_ctrl_c=on_ctrl_c)
    wait_until(lambda: list(folder.glob("step-*.checkpoint")), process)
    process.send_signal(sent)
    out, err = process.communicate(timeout=HANGS)
    assert process.returncode == code, err
    assert "contains the model as trained until then" in err
    assert "with --resume to continue" in err
    assert "held out were not scored" in out
    before = load(model).classifier.n_iter_
    assert load(model).predict_proba(pd.DataFrame({"a": [0.0], "b": [0.0]})).sum() == pytest.approx(
        1.0, rel=1e-12
    )

    done = run(*arguments, "--resume", "--max-time", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert load(model).classifier.n_iter_ >= before
    assert not folder.exists()


def test_resume_says_that_a_small_table_is_fitted_anew(home, tmp_path):
    table = pd.DataFrame({"a": np.arange(60.0), "y": np.arange(60) % 7 > 2})
    table.to_csv(tmp_path / "small.csv", index=False)
    out = tmp_path / "m.fewknots"
    done = run("fit", tmp_path / "small.csv", "-t", "y", "--out", out, "--resume")
    assert done.returncode == 0, done.stderr
    assert "the fit starts again" in done.stderr


def test_without_time_a_model_comes_out_all_the_same(many_rows, tmp_path):
    out = tmp_path / "m.fewknots"
    limits = ["--max-time", "0.001", "--holdout", "0.4", "--inducing", 10, "--json"]
    done = run("fit", many_rows, "-t", "y", "--out", out, *limits)
    assert done.returncode == 0, done.stderr
    held_out = load(out).about["hold_out"]
    assert held_out["scored"] == 4096 < held_out["rows"]
    assert json.loads(done.stdout)["scores"]
    assert load(out).classifier.max_time is None


def unread(pipe):
    """How many bytes the process at the other end has not read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_ctrl_c_before_there_is_anything(tmp_path):
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    out.mkdir()
    process = started("fit", "-", "-t", "y", "--out", out / "m.fewknots", TMPDIR=str(scratch))
    process.stdin.write("x,y\n")
    process.stdin.flush()
    wait_until(lambda: unread(process.stdin) == 0, process)  # now it waits for rows
    assert list(scratch.glob("fewknots-*"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANGS)
    assert process.returncode == 130, err
    assert "no output was written" in err
    assert "Traceback" not in err
    assert list(out.iterdir()) == list(scratch.iterdir()) == []


def completed(words):
    environment = {
        "_FEWKNOTS_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return run(env=os.environ | environment).stdout.split()


def test_fit_notes_that_its_time_was_used_up(fewknots, home, tmp_path):
    options = ["-t", "late", "--inducing", 8, "--out", tmp_path / "m.fewknots"]
    assert "--max-time" in fewknots("fit", home / "flights.csv", *options, "--max-time", 0.1).err
    assert "--max-time" not in fewknots("fit", home / "flights.csv", *options).err


def test_ctrl_c_during_the_import_of_a_compiled_module(capfd):
    app = typer.Typer()

    @app.command()
    def loads(module: str):
        raise ImportError("initialization failed") from KeyboardInterrupt()

    assert running.run(app, ["numpy"]) == 130
    assert capfd.readouterr().err == "fewknots: interrupted; no output was written.\n"


def test_shell_completion():
    assert completed("fewknots in") == ["inspect"]
    assert "--kernel" in completed("fewknots fit --k")
    assert "banana" in completed("fewknots reproduce ban")
    script = run(env=os.environ | {"_FEWKNOTS_COMPLETE": "source_bash"}).stdout
    assert "_FEWKNOTS_COMPLETE=complete_bash" in script
