"""Calls on few rows: what is compiled, what stays on the device, and that answers stay right."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import jax
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fewknots import GPClassifier
from fewknots.data.blocks import BLOCK_SIZES
from fewknots.numerics.precision import one_lapack_thread

ROW_COUNTS = (1, 2, 7, 9, 31, 33, 100, 129, 200, 500, 999, 1025, 3000, 8192, 9999)
OTHER_COUNTS = (3, 8, 10, 32, 64, 127, 201, 640, 1024, 2000, 8191, 10_000)


@contextmanager
def programs_compiled():
    """A list that gets an entry for every program that JAX compiles, or takes from its cache."""
    found = []

    def note(event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(note)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(3).normal(size=(10_000, 3)) * [1.0, 2.0, 0.5] + [0.0, 5.0, -1.0]


@pytest.fixture(scope="module", params=["sparse_kl", "laplace", "local"])
def fitted(request, moons):
    return GPClassifier(method=request.param, learn_kernel=False, random_state=0).fit(*moons)


def test_the_number_of_programs_does_not_grow_with_the_numbers_of_rows(moons, rows):
    # four inputs of its own: no other test's programs have these shapes
    X, y = moons
    X, rows = np.column_stack([X, X[:, 0] > 0]), np.column_stack([rows, rows[:, 0] > 0])
    clf = GPClassifier(n_inducing=7, learn_kernel=False, random_state=0).fit(X, y)
    with programs_compiled() as found:
        for n in ROW_COUNTS:
            clf.predict_proba(rows[:n])
    # of each size one for the posterior and one for the link, which other models may have used
    assert len(BLOCK_SIZES) <= len(found) <= 2 * len(BLOCK_SIZES)
    with programs_compiled() as more:
        for n in OTHER_COUNTS:
            clf.predict_proba(rows[:n])
    assert more == []


def test_neighbourhoods_need_two_programs_more(moons, rows):
    X, y = moons
    clf = GPClassifier(method="local", n_neighbors=9, max_iter=2, random_state=0).fit(X, y)
    with programs_compiled() as found:
        for n in (1, 2, 3, 4, 5, 17, 100, 300, 1000, 3000):
            clf.predict_proba(rows[:n])
    assert len(found) <= 4
    with programs_compiled() as more:
        for n in (6, 16, 33, 250, 2500):
            clf.predict_proba(rows[:n])
    assert more == []


def test_a_row_gets_the_same_probability_alone_and_among_others(fitted, rows):
    together = fitted.predict_proba(rows[:300])
    for n in (1, 10, 40, 130):
        np.testing.assert_allclose(fitted.predict_proba(rows[:n]), together[:n], rtol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(rows[299:300])[0], together[299], rtol=1e-9)


def test_the_copy_on_the_device_is_made_once_and_belongs_to_no_pickle(fitted, rows):
    posterior = fitted.posterior_
    fresh = pickle.loads(pickle.dumps(posterior))
    assert "_device_copy" not in fresh.__dict__
    fitted.predict_proba(rows[:1])
    kept = posterior.__dict__["_device_copy"]
    assert fitted.predict_proba(rows[:1]).shape == (1, 2)
    fitted.predict(rows[:50])
    assert posterior.__dict__["_device_copy"] is kept
    assert len(pickle.dumps(posterior)) == len(pickle.dumps(fresh))
    for other in (copy.copy(posterior), copy.deepcopy(posterior)):
        assert "_device_copy" not in other.__dict__


def test_many_threads_ask_one_model_that_has_never_predicted(fitted, rows):
    alone = fitted.predict_proba(rows[:60])
    model = pickle.loads(pickle.dumps(fitted))
    ready = Barrier(4)

    def ask(first):
        ready.wait(timeout=60)
        return [model.predict_proba(rows[first : first + n]) for n in (1, 9, 40, 1)]

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, first) for first in range(0, 20, 5)]
        for first, answers in zip(range(0, 20, 5), asked, strict=True):
            for answer in answers.result(timeout=300):
                expected = alone[first : first + len(answer)]
                np.testing.assert_allclose(answer, expected, rtol=1e-9)


def test_lapack_has_one_thread_each_time_and_its_own_number_after():
    def blas_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        for _ in range(2):  # where the libraries are is found out the first time
            with one_lapack_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {2}
