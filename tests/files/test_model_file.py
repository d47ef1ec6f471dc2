"""Model files: bit-exact, whole or absent, and never trusted."""

import json
import pickle
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as safetensors_save

from fewknots import GPClassifier, ModelFileError, load
from fewknots.files import container
from fewknots.kernels import RBF, Constant, Linear, Matern32

from ..waiting import HANGS

SETTINGS = [
    {},
    {"kernel": "matern12", "likelihood": "logit"},
    {"kernel": Matern32(ard=False) * 2.0 + Linear() + Constant(0.3)},
    {"dtype": "float32", "class_weight": "balanced"},
    {"standardize": False, "class_weight": {0: 1.0, 1: 2.5}},
    {"inducing_points": np.array([[0.0, 5.0, -1.0], [1.0, 4.0, 0.0]]), "tol": 1e-2},
]


def quick(**arguments):
    defaults = {"n_inducing": 8, "max_iter": 200, "tol": 1e-3, "random_state": 0}
    return GPClassifier(**(defaults | arguments))


@pytest.fixture(scope="module")
def fitted(moons):
    return quick().fit(*moons)


@pytest.fixture
def path(tmp_path, fitted):
    path = tmp_path / "model.fewknots"
    fitted.save(path)
    return path


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_round_trip_is_bit_exact(tmp_path, moons, settings):
    X, y = moons
    before = quick(**settings).fit(X, y)
    before.save(tmp_path / "model.fewknots")
    after = load(tmp_path / "model.fewknots")
    np.testing.assert_array_equal(after.predict_log_proba(X), before.predict_log_proba(X))
    np.testing.assert_array_equal(after.inducing_points_, before.inducing_points_)
    assert repr(after.kernel_) == repr(before.kernel_)
    assert repr(after.get_params()) == repr(before.get_params())
    for name in ("log_evidence_", "n_iter_", "converged_", "n_features_in_"):
        assert getattr(after, name) == getattr(before, name)
        assert type(getattr(after, name)) is type(getattr(before, name))
    for name, column in before.history_.items():
        np.testing.assert_array_equal(after.history_[name], column)
    after.save(tmp_path / "again.fewknots")
    assert (tmp_path / "again.fewknots").read_bytes() == (tmp_path / "model.fewknots").read_bytes()


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["no", "yes"], [-3, 7], [1.0, 2.0], np.array(["no", "ja"], dtype=object)],
    ids=str,
)
def test_labels_come_back_as_they_were(tmp_path, moons, labels):
    X, y = moons
    before = quick(learn_kernel=False, learn_inducing=False).fit(X, np.asarray(labels)[y])
    before.save(tmp_path / "model.fewknots")
    after = load(tmp_path / "model.fewknots")
    assert after.classes_.dtype == before.classes_.dtype
    np.testing.assert_array_equal(after.predict(X), before.predict(X))


def test_feature_names_are_kept_and_checked(tmp_path, moons):
    X, y = moons
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    quick(learn_kernel=False).fit(table, y).save(tmp_path / "model.fewknots")
    after = load(tmp_path / "model.fewknots")
    after.predict(table)
    with pytest.raises(ValueError, match="feature names should match"):
        after.predict(table.rename(columns={"a": "z"}))


def test_a_loaded_model_can_be_fitted_again(path, moons):
    X, y = moons
    clf = load(path)
    assert clf.fit(X, 1 - y).score(X, 1 - y) > 0.8


def test_another_process_reads_the_same_numbers(path, fitted, moons):
    X, _ = moons
    program = f"""
import sys, numpy as np
from fewknots import load
X = np.frombuffer(sys.stdin.buffer.read()).reshape(-1, 3)
sys.stdout.buffer.write(load({str(path)!r}).predict_log_proba(X).tobytes())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=X.tobytes(), capture_output=True, timeout=HANGS
    )
    assert done.stdout == fitted.predict_log_proba(X).tobytes(), done.stderr.decode()


# --- files that are not what they should be -------------------------------------------------------


def test_cut_anywhere_it_says_so(path):
    content = path.read_bytes()
    for length in (0, 5, 8, 200, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"cut off|is not a fewknots model file"):
            load(path)


def test_a_changed_byte_is_noticed(path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in (len(content) - 1, len(content) - 900, *rng.integers(8, len(content), 60)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ModelFileError):
            load(path)


def test_an_edited_header_is_noticed(path):
    content = path.read_bytes()
    edited = content.replace(b"probit", b"logits", 1)
    assert edited != content
    path.write_bytes(edited)
    with pytest.raises(ModelFileError, match="was changed after it was written"):
        load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x00" * 64,
        b"\xff" * 64,
        b"<html>not a model</html>",
        safetensors_save({"weight": np.zeros(3)}),
        safetensors_save({"weight": np.zeros(3)}, metadata={"fewknots": "7"}),
        struct.pack("<Q", 20) + b"[" * 20,
    ],
    ids=range(8),
)
def test_foreign_files(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a fewknots model file"):
        load(path)


def test_a_pickle_is_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the file was executed",))

    path = tmp_path / "trap.fewknots"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError):
        load(path)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.fewknots")


def _rewritten(path, change):
    """The file with its header changed and its checksum made right again."""
    header, arrays = container.read(path)
    header = json.loads(json.dumps(header))
    change(header, arrays)
    container.write(path, header, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update(format=3, fewknots="9.1"), "format 3, written by fewknots 9.1"),
        (lambda h, a: h.pop("format"), "no format version"),
        (lambda h, a: h.update(estimator="os.system"), "has no estimator 'os.system'"),
        (lambda h, a: h["kernel"].update({"class": "Popen"}), "has no kernel 'Popen'"),
        (lambda h, a: h["targets"].update(likelihood="poisson"), "unknown likelihood 'poisson'"),
        (lambda h, a: h["targets"]["classes"].update(dtype="O"), "unknown dtype 'O'"),
        (lambda h, a: h["targets"].pop("classes"), "'classes'"),
        (lambda h, a: a.pop("posterior.mean"), "posterior.mean"),
        (lambda h, a: a.update({"posterior.mean": np.zeros(3)}), r"'posterior.mean' is .*\(3,\)"),
        (lambda h, a: a["posterior.shrink"].fill(np.nan), "'posterior.shrink' holds NaN"),
        (lambda h, a: h["arguments"].update(colour="red"), "colour"),
    ],
)
def test_a_well_sealed_file_with_wrong_content(path, change, message):
    _rewritten(path, change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


# --- writing --------------------------------------------------------------------------------------


def test_writing_fails_whole(path, fitted, monkeypatch):
    """A crash before the last step leaves the old file as it was, and no litter."""
    content = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        fitted.save(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_killed_while_writing_leaves_the_old_file_whole(path, moons):
    """A process that saves over and over is killed: the file is one of its saves, never half."""
    program = f"""
import sys
from fewknots import load
clf = load({str(path)!r})
print("ready", flush=True)
for _ in range(100_000):
    clf.save({str(path)!r})
"""
    writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "ready\n"
    finally:
        writer.kill()
        writer.wait(timeout=HANGS)
        writer.stdout.close()
    assert load(path).predict(moons[0]).shape == (80,)


def test_unfitted_models_and_strange_labels_are_not_saved(tmp_path, moons):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        GPClassifier().save(tmp_path / "x")
    X, y = moons
    clf = quick(kernel=RBF(1.0), learn_kernel=False, learn_inducing=False).fit(X, y)
    clf.classes_ = np.array([b"no", b"yes"])
    with pytest.raises(ValueError, match="cannot be saved"):
        clf.save(tmp_path / "x")
    assert not (tmp_path / "x").exists()
