"""Checkpoints that are damaged or forged: refused, or the run goes on as it should."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots import CheckpointError, CheckpointWarning, GPClassifier
from fewknots.files import container
from fewknots.training.checkpoint import Checkpoints, of_minibatches

from .test_model_files import check_words, damages, json_values, places_in

RNG = np.random.default_rng(8)
X = RNG.normal(size=(300, 2))
y = X[:, 0] + X[:, 1] ** 2 - 1.0 + 0.3 * RNG.normal(size=300) > 0
FUZZ = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def run(folder, resume=True):
    return GPClassifier(
        n_inducing=4,
        optimizer="natural_gradient",
        batch_size=50,
        max_iter=40,
        random_state=0,
        checkpoint=folder,
        resume=resume,
    ).fit(X, y)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The path of a folder's only checkpoint, and its bytes."""
    folder = tmp_path_factory.mktemp("run")
    run(folder, resume=False)
    path = max(folder.iterdir())
    for other in folder.iterdir():
        if other != path:
            other.unlink()
    return path, path.read_bytes()


@FUZZ
@given(damage=damages())
def test_a_damaged_checkpoint_is_refused(damage, finished):
    path, good = finished
    path.write_bytes(good)
    header, arrays = container.read(path)
    path.write_bytes(damage(good))
    saved = taken_up(path, header["fingerprint"])
    if saved is not None:
        assert saved.header == header
        assert all(np.array_equal(saved.arrays[name], array) for name, array in arrays.items())


def taken_up(path, fingerprint):
    """What a run would go on from, or None if the file was refused in so many words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        try:
            return Checkpoints(path.parent, fingerprint, of_minibatches).latest()
        except CheckpointError as refused:
            check_words(refused, 3000)
            return None


@FUZZ
@given(data=st.data())
def test_a_forged_checkpoint_has_the_right_form_or_is_refused(data, finished):
    path, good = finished
    path.write_bytes(good)
    header, arrays = container.read(path)
    fingerprint = copy.deepcopy(header["fingerprint"])
    *way, last = data.draw(st.sampled_from(list(places_in(header))[1:]))
    target = header
    for key in way:
        target = target[key]
    if data.draw(st.booleans()):
        target[last] = data.draw(json_values)
    else:
        del target[last]
    container.write(path, header, arrays)
    saved = taken_up(path, fingerprint)
    if saved is not None:
        assert type(saved.header["seed"]) is int
        assert saved.header["n_inducing"] <= max(a.size for a in arrays.values())


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h["standing"].update(done=0, scores=[]),
        lambda h, a: h["standing"].update(done=-1),
        lambda h, a: h["standing"]["pace"].update(end=2**60),
        lambda h, a: h["standing"].update(colour="red"),
        lambda h, a: h.update(n_inducing=2**40),
        lambda h, a: h.update(n_inducing=3),
        lambda h, a: h.update(seed=-1),
        lambda h, a: a.update({"state.0": a["state.0"].astype(np.float16)}),
        lambda h, a: a.update({"history.iteration": np.zeros((2, 2))}),
        lambda h, a: a.pop("history.seconds"),
    ],
    ids=range(10),
)
def test_a_run_goes_on_from_a_forgery_or_says_why_not(change, finished):
    path, good = finished
    path.write_bytes(good)
    header, arrays = container.read(path)
    change(header, arrays)
    container.write(path, header, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        try:
            found = run(path.parent)
        except CheckpointError as refused:
            check_words(refused, 3000)
        else:
            assert np.isfinite(found.log_evidence_)
    for other in path.parent.iterdir():
        other.unlink()
