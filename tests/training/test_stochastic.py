"""Minibatch training: its estimate is unbiased, its end is near the full batch's, it survives."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier, NumericalError, NumericalWarning
from fewknots.training import stochastic
from fewknots.training.stochastic import Plan, automatic_plan

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 2))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0 + 0.3 * RNG.normal(size=600) > 0


def small(**arguments):
    defaults = {
        "n_inducing": 12,
        "optimizer": "natural_gradient",
        "batch_size": 100,
        "max_iter": 1000,
        "random_state": 0,
    }
    return GPClassifier(**(defaults | arguments))


@pytest.fixture(scope="module")
def fitted():
    return small().fit(X, y)


def test_ends_near_the_full_batch(fitted):
    full = GPClassifier(n_inducing=12, optimizer="collapsed", random_state=0).fit(X, y)
    assert fitted.log_evidence_ > full.log_evidence_ - 10.0  # other optimum for Z
    p, q = fitted.predict_proba(X)[:, 1], full.predict_proba(X)[:, 1]
    assert np.mean(np.abs(p - q)) < 0.03
    assert fitted.n_iter_ == 1000
    assert fitted.history_["iteration"][-1] == 1000


def test_the_reported_bound_is_that_of_all_rows(fitted):
    """Evaluated anew at the learned kernel and Z, with q at its best: no lower, hardly higher."""
    best = GPClassifier(
        fitted.kernel_,
        inducing_points=fitted.inducing_points_,
        learn_kernel=False,
        learn_inducing=False,
    ).fit(X, y)
    assert best.log_evidence_ - 1.0 < fitted.log_evidence_ <= best.log_evidence_ + 1e-6


def test_with_everything_held_only_q_is_learned():
    """A batch of all rows and rates that fall: q ends at the collapsed solution."""
    held = {"learn_kernel": False, "learn_inducing": False, "inducing_points": X[:12]}
    found = small(batch_size=600, max_iter=300, **held).fit(X, y)
    exact = GPClassifier(**held).fit(X, y)
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-4)
    gradient, want = found.evidence_gradient_, exact.evidence_gradient_
    np.testing.assert_allclose(
        gradient.kernel.lengthscale, want.kernel.lengthscale, rtol=0.01, atol=0.05
    )
    np.testing.assert_allclose(gradient.inducing_points, want.inducing_points, atol=0.1)


def test_same_seed_same_model_other_seed_other_model(fitted):
    assert small().fit(X, y).log_evidence_ == fitted.log_evidence_
    assert small(random_state=1).fit(X, y).log_evidence_ != fitted.log_evidence_


def test_rows_that_do_not_fill_the_last_block_count_once(monkeypatch, fitted):
    """The final pass over the data in small blocks gives the same bound as in one."""
    monkeypatch.setattr(stochastic, "_EVALUATION_BLOCK", 128)
    again = small().fit(X, y)
    assert again.log_evidence_ == pytest.approx(fitted.log_evidence_, rel=1e-12)


def test_every_pass_sees_every_row_once():
    rows = stochastic.Rows(X, X[:, 0], np.ones(600))
    chosen = stochastic._batches(rows, 60, seed=3, done=0)
    assert chosen.shape == (100, 60)
    for number in range(10):
        here = chosen[10 * number : 10 * (number + 1)].ravel()
        np.testing.assert_array_equal(np.sort(here), np.arange(600))
    assert not np.array_equal(chosen[:10], chosen[10:20])
    # a later chunk goes on where this one ended, also in the middle of a pass
    later = stochastic._batches(rows, 61, seed=3, done=100)
    whole = np.concatenate([stochastic._batches(rows, 61, seed=3, done=0), later]).ravel()
    np.testing.assert_array_equal(np.sort(whole[:600]), np.arange(600))
    np.testing.assert_array_equal(np.sort(whole[600 * 15 : 600 * 16]), np.arange(600))


def test_no_more_steps_than_asked_for(monkeypatch):
    """Seven steps in a chunk of a hundred are the same as seven steps in a chunk of seven."""
    in_a_large_chunk = small(max_iter=7).fit(X, y)
    monkeypatch.setattr(stochastic, "_CHUNK", 7)
    alone = small(max_iter=7).fit(X, y)
    assert in_a_large_chunk.n_iter_ == alone.n_iter_ == 7
    assert in_a_large_chunk.log_evidence_ == pytest.approx(alone.log_evidence_, rel=1e-12)


def test_weights_count_in_expectation():
    weights = np.where(np.arange(600) < 100, 3.0, 1.0)
    held = {"learn_kernel": False, "learn_inducing": False, "inducing_points": X[:12]}
    found = small(batch_size=600, max_iter=300, **held).fit(X, y, weights)
    exact = GPClassifier(**held).fit(X, y, weights)
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-3)


def test_time_is_kept():
    small(max_time=1.0, max_iter=200).fit(X, y)  # compiled
    started = time.perf_counter()
    clf = small(max_time=1.0, max_iter=1_000_000).fit(X, y)
    assert time.perf_counter() - started < 20.0
    assert clf.n_iter_ < 1_000_000
    assert clf.converged_


def test_a_callback_stops_it():
    clf = small(callback=lambda progress: progress.iteration >= 200).fit(X, y)
    assert clf.n_iter_ == 200
    assert not clf.converged_


def test_a_diverging_chunk_is_undone_and_slowed(monkeypatch, fitted):
    """The first chunk is made to end in NaN: what follows is as if it had not happened."""
    honest, calls = stochastic._run_chunk, []

    def broken_once(state, *arguments):
        calls.append(float(arguments[3].adam[0]))
        new, bound = honest(state, *arguments)
        if len(calls) == 1:
            new = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), new)
        return new, bound

    monkeypatch.setattr(stochastic, "_run_chunk", broken_once)
    with pytest.warns(NumericalWarning, match="steps 0 to 100 diverged"):
        clf = small().fit(X, y)
    assert calls[1] == pytest.approx(0.5 * calls[0])
    assert clf.n_iter_ == 1000
    assert clf.log_evidence_ > fitted.log_evidence_ - 20.0


def test_diverging_for_ever_is_an_error(monkeypatch):
    def broken(state, *arguments):
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), state), jnp.nan

    monkeypatch.setattr(stochastic, "_run_chunk", broken)
    with (
        pytest.warns(NumericalWarning),
        pytest.raises(NumericalError, match="diverged 6 times in a row around step 0"),
    ):
        small().fit(X, y)


def test_plans():
    assert automatic_plan(60_000, "auto", None, None) == Plan(1024, 2000, None)
    assert automatic_plan(10**6, "auto", None, 5.0) == Plan(1024, 19531, 5.0)
    assert automatic_plan(10**9, 256, None, None) == Plan(256, 20_000, None)
    assert automatic_plan(100, "auto", 7, None) == Plan(100, 7, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"max_time": -1.0}, "max_time must be a positive number"),
        ({"method": "ep", "n_inducing": "auto"}, "which method='ep' does not have"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        small(**arguments).fit(X, y)


def test_many_rows_are_trained_stochastically():
    many = np.tile(X, (40, 1)) + 0.01 * RNG.normal(size=(24_000, 2))
    labels = np.tile(y, 40)
    clf = GPClassifier(n_inducing=12, max_iter=300, random_state=0).fit(many, labels)
    assert clf.n_iter_ == 300  # steps
    assert clf.score(many, labels) > 0.85
