"""Runs that are killed, torn files, foreign files: nothing is lost, nothing is mixed up."""

import random
import signal
import subprocess
import sys

import numpy as np
import pytest

from fewknots import CheckpointError, CheckpointWarning, GPClassifier, load
from fewknots.training.checkpoint import Checkpoints, of_minibatches

from ..waiting import HANGS

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 2))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0 + 0.3 * RNG.normal(size=600) > 0

# It may be told to die some time after its first checkpoint: at any point of a chunk, of a score or
# of writing the next. The time is that of its own work, so what else the machine does is nothing
# to it.
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
import numpy as np
from fewknots import GPClassifier

def die(folder, seconds):
    before = set(folder.glob("step-*"))
    while not set(folder.glob("step-*")) - before:
        time.sleep(0.002)
    end = time.process_time() + seconds
    while time.process_time() < end:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)

if len(sys.argv) > 4:
    when = Path(sys.argv[1]), float(sys.argv[4])
    threading.Thread(target=die, args=when, daemon=True).start()
rng = np.random.default_rng(8)
X = rng.normal(size=(5000, 3))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0 + 0.3 * rng.normal(size=5000) > 0
clf = GPClassifier(
    n_inducing=30, optimizer="natural_gradient", batch_size=200, max_iter=2000, random_state=0,
    validation_fraction=0.1, checkpoint=sys.argv[1], resume=True,
)
if sys.argv[3] == "stream":
    clf.fit_stream(lambda: iter([(X[:3000], y[:3000]), (X[3000:], y[3000:])]))
else:
    clf.fit(X, y)
clf.save(sys.argv[2])
"""


def run(folder, model, how, *seconds):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, folder, model, how, *map(str, seconds)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=HANGS,
    )


def steps_kept(folder):
    return max(int(path.stem.removeprefix("step-")) for path in folder.glob("step-*"))


@pytest.mark.parametrize(("how", "kills"), [("memory", 2), ("stream", 1)])
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(how, kills, tmp_path):
    whole = run(tmp_path / "whole", tmp_path / "whole.fewknots", how)
    assert whole.returncode == 0, whole.stderr
    where = tmp_path / "killed", tmp_path / "killed.fewknots", how
    chance = random.Random(1)
    for _ in range(kills):
        killed = run(*where, chance.uniform(0.001, 0.3))
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert steps_kept(tmp_path / "killed") < 2000
    last = run(*where)
    assert last.returncode == 0, last.stderr
    one, other = (load(tmp_path / f"{name}.fewknots") for name in ("whole", "killed"))
    assert one.n_iter_ == other.n_iter_ == 2000
    assert one.log_evidence_ == other.log_evidence_
    for name, array in one.posterior_.arrays().items():
        np.testing.assert_array_equal(other.posterior_.arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(one.history_["bound"], other.history_["bound"])
    np.testing.assert_array_equal(one.history_["held_out_nlp"], other.history_["held_out_nlp"])


def small(folder, **arguments):
    defaults = {"n_inducing": 8, "optimizer": "natural_gradient", "batch_size": 100}
    defaults |= {"max_iter": 400, "random_state": 0, "checkpoint": folder, "resume": True}
    return GPClassifier(**(defaults | arguments))


@pytest.fixture
def finished(tmp_path):
    small(tmp_path).fit(X, y)
    return tmp_path


def test_only_the_last_two_are_kept(finished):
    names = sorted(path.name for path in finished.iterdir())
    assert len(names) == 2
    assert names[-1] == "step-0000000400.checkpoint"


def test_a_finished_run_is_not_run_again(finished):
    again = small(finished).fit(X, y)
    assert again.n_iter_ == 400
    assert again.log_evidence_ == small(None, resume=False).fit(X, y).log_evidence_


@pytest.mark.parametrize("damage", ["torn", "empty", "changed"])
def test_a_damaged_checkpoint_is_passed_over(damage, finished):
    path = max(finished.iterdir())
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes({"torn": content[:-300], "empty": b"", "changed": bytes(content)}[damage])
    with pytest.warns(CheckpointWarning, match=r"step-0000000400.checkpoint .* the one before"):
        again = small(finished).fit(X, y)
    assert again.log_evidence_ == small(None, resume=False).fit(X, y).log_evidence_


def test_a_foreign_checkpoint_is_refused_and_says_why(finished):
    with (
        pytest.warns(CheckpointWarning, match="belongs to another run: its n_inducing is 8"),
        pytest.raises(CheckpointError, match=r"no checkpoint in .* can be used"),
    ):
        small(finished, n_inducing=9).fit(X, y)
    with pytest.warns(CheckpointWarning, match="its data is"), pytest.raises(CheckpointError):
        small(finished).fit(X + 1.0, y)


def test_other_files_in_the_folder_are_left_alone(finished):
    (finished / "notes.txt").write_text("mine")
    (finished / ".step-0000000500.checkpoint.abc").write_text("what a killed process left")
    small(finished).fit(X, y)
    assert (finished / "notes.txt").exists()
    assert not (finished / ".step-0000000500.checkpoint.abc").exists()


def test_without_resume_it_begins_anew(finished):
    small(finished, resume=False, max_iter=100).fit(X, y)
    kept = sorted(path.name for path in finished.iterdir())
    assert len(kept) <= 2  # which one before the last depends on the clock
    assert kept[-1] == "step-0000000100.checkpoint"


def test_a_run_can_be_made_longer(tmp_path):
    small(tmp_path, max_iter=200).fit(X, y)
    longer = small(tmp_path, max_iter=600).fit(X, y)
    assert longer.n_iter_ == 600
    np.testing.assert_array_equal(longer.history_["iteration"][-6:], np.arange(100, 601, 100))


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be used as a folder"):
        small(tmp_path / "file").fit(X, y)


def test_writing_takes_a_small_share_of_the_time(tmp_path):
    checkpoints = Checkpoints(tmp_path, {}, of_minibatches)
    assert checkpoints.is_due()
    checkpoints.write(1, {}, {"a": np.zeros(10)})
    assert not checkpoints.is_due()


INTERRUPTED = """
import os, signal, warnings
import numpy as np
from fewknots import GPClassifier
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell had it ignored
rng = np.random.default_rng(8)
X = rng.normal(size=(600, 2))
y = X[:, 0] + 0.5 * rng.normal(size=600) > 0
def started(progress):
    if progress.iteration == 200:
        os.kill(os.getpid(), signal.SIGINT)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    clf = GPClassifier(n_inducing=8, optimizer="natural_gradient", batch_size=100, tol=0.0,
                       max_iter=10_000_000, random_state=0, callback=started).fit(X, y)
print("score", clf.score(X, y), clf.n_iter_, [str(w.message) for w in caught])
"""


def test_ctrl_c_ends_a_run_with_a_usable_model():
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=HANGS
    )
    assert process.returncode == 0, process.stderr
    word, score, steps, message = process.stdout.strip().split(maxsplit=3)
    assert word == "score"
    assert float(score) > 0.8
    assert int(steps) == 200
    assert "interrupted after" in message
