"""Minibatch training: its estimate is unbiased, its end is near the full batch's, it survives."""

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier, NumericalError, NumericalWarning
from fewknots.training import feed, schedule, steps, stochastic
from fewknots.training.schedule import Plan, automatic_plan

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 2))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0 + 0.3 * RNG.normal(size=600) > 0


def small(**arguments):
    defaults = {
        "kernel": "rbf",
        "n_inducing": 12,
        "optimizer": "natural_gradient",
        "batch_size": 100,
        "max_iter": 1000,
        "dtype": "float64",
        "random_state": 0,
    }
    return GPClassifier(**(defaults | arguments))


@pytest.fixture(scope="module")
def fitted():
    return small().fit(X, y)


def test_ends_near_the_full_batch(fitted):
    full = GPClassifier("rbf", n_inducing=12, optimizer="collapsed", random_state=0).fit(X, y)
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


@pytest.mark.parametrize("optimizer", ["natural_gradient", "adam"])
def test_with_everything_held_only_q_is_learned(optimizer):
    """A batch of all rows and rates that fall: q ends at the collapsed solution."""
    held = {"learn_kernel": False, "learn_inducing": False, "inducing_points": X[:12]}
    steps, close = {"natural_gradient": (300, 1e-6), "adam": (3000, 0.1)}[optimizer]
    found = small(optimizer=optimizer, batch_size=600, max_iter=steps, **held).fit(X, y)
    exact = GPClassifier("rbf", **held).fit(X, y)
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=close)
    assert found.evidence_gradient_ is None


def test_the_papers_optimizer_learns():
    """Adadelta, step rate 0.1, batches of ten."""
    short, long = (
        small(optimizer="adadelta", batch_size="auto", max_iter=steps).fit(X, y)
        for steps in (200, 3000)
    )
    assert long.log_evidence_ > short.log_evidence_ + 20.0
    assert long.score(X, y) > 0.8


def test_same_seed_same_model_other_seed_other_model(fitted):
    assert small().fit(X, y).log_evidence_ == fitted.log_evidence_
    assert small(random_state=1).fit(X, y).log_evidence_ != fitted.log_evidence_


def test_rows_that_do_not_fill_the_last_block_count_once(monkeypatch, fitted):
    """The final pass over the data in small blocks gives the same bound as in one."""
    monkeypatch.setattr(feed, "_EVALUATION_BLOCK", 128)
    again = small().fit(X, y)
    assert again.log_evidence_ == pytest.approx(fitted.log_evidence_, rel=1e-12)


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
    exact = GPClassifier("rbf", **held).fit(X, y, weights)
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-3)


def test_time_is_kept():
    small(max_time=1.0, max_iter=200).fit(X, y)  # compiled
    clf = small(max_time=1.0, max_iter=1_000_000).fit(X, y)
    assert np.all(clf.history_["seconds"][:-1] < 1.0)  # nothing was begun after that
    assert clf.n_iter_ < 1_000_000
    assert clf.converged_


def test_a_callback_stops_it():
    clf = small(callback=lambda progress: progress.iteration >= 200).fit(X, y)
    assert clf.n_iter_ == 200
    assert not clf.converged_


def test_a_diverging_chunk_is_undone_and_slowed(monkeypatch, fitted):
    """The first chunk is made to end in NaN: what follows is as if it had not happened."""
    honest, calls = steps.run_chunk, []

    def broken_once(optimizer, state, *arguments):
        calls.append(float(arguments[4].gradient[0]))
        new, bound, finite = honest(optimizer, state, *arguments)
        if len(calls) == 1:
            finite = jnp.asarray(False)
        return new, bound, finite

    monkeypatch.setattr(steps, "run_chunk", broken_once)
    with pytest.warns(NumericalWarning, match="steps 0 to 5 diverged"):
        clf = small().fit(X, y)
    assert calls[1] == pytest.approx(0.5 * calls[0])
    assert clf.n_iter_ == 1000
    assert clf.log_evidence_ > fitted.log_evidence_ - 20.0


def test_a_bound_that_falls_off_a_cliff_is_undone(monkeypatch):
    honest, calls = steps.run_chunk, []

    def fallen_once(*arguments):
        calls.append(1)
        new, bound, finite = honest(*arguments)
        return new, bound * (100.0 if len(calls) == 10 else 1.0), finite

    monkeypatch.setattr(steps, "run_chunk", fallen_once)
    with pytest.warns(NumericalWarning, match="steps 400 to 500 diverged"):
        clf = small().fit(X, y)
    assert len(calls) == 16
    assert clf.n_iter_ == 1000


def test_a_chunk_of_nan_is_noticed():
    """Real NaN, from rates that no step survives."""
    plan_of = schedule._GRADIENT_RATE
    before = plan_of["natural_gradient"]
    plan_of["natural_gradient"] = 1e30
    try:
        with (
            pytest.warns(NumericalWarning),
            pytest.raises(NumericalError, match="diverged 6 times in a row around step 0"),
        ):
            small().fit(X, y)
    finally:
        plan_of["natural_gradient"] = before


def test_plans():
    auto = ("auto", None, None)
    assert automatic_plan("natural_gradient", 60_000, 200, *auto) == Plan(
        "natural_gradient", 1024, 400
    )
    assert automatic_plan("natural_gradient", 10**6, 300, *auto) == Plan(
        "natural_gradient", 1200, 2500
    )
    assert automatic_plan("natural_gradient", 10**6, 2000, *auto).batch_size == 8000
    assert automatic_plan("adadelta", 10**6, 200, *auto) == Plan("adadelta", 10, 20_000)
    assert automatic_plan("adam", 10**9, 50, 256, None, None).steps == 20_000
    assert automatic_plan("adam", 100, 50, "auto", 7, None) == Plan("adam", 100, 7)
    # with a clock and no number of steps the clock decides
    assert automatic_plan("adam", 10**6, 50, "auto", None, 5.0).steps > 10**8


def test_stops_when_nothing_more_is_gained():
    """Nothing but q to learn, from all rows at once: done long before the plan's end."""
    held = {"learn_kernel": False, "learn_inducing": False, "inducing_points": X[:12]}
    clf = small(batch_size=600, max_iter=100_000, **held).fit(X, y)
    assert 2000 <= clf.n_iter_ < 5000
    assert clf.converged_


def test_a_held_out_slice_is_scored_and_not_learned_from(fitted):
    clf = small(validation_fraction=0.2).fit(X, y)
    scores = clf.history_["held_out_nlp"]
    assert len(scores) == len(clf.history_["bound"])
    assert scores[-1] < scores[0]
    assert scores[-1] < 0.45
    # the bound is that of the 480 rows learned from
    assert clf.log_evidence_ > 0.9 * fitted.log_evidence_


def test_arrays_too_large_for_the_device_are_fetched_in_chunks(monkeypatch, fitted):
    monkeypatch.setattr(feed, "fits_on_device", lambda n_bytes: False)
    clf = small().fit(X, y)
    assert clf.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=10.0)
    assert clf.log_evidence_ != fitted.log_evidence_  # the rows came in another order


def test_warm_start_goes_on_from_where_it_was(fitted):
    warm = small(warm_start=True).fit(X, y)
    kernel = warm.kernel_
    warm.set_params(max_iter=1).fit(X, y)
    np.testing.assert_allclose(warm.kernel_.lengthscale, kernel.lengthscale, rtol=0.1)
    assert warm.log_evidence_ > fitted.log_evidence_ - 20.0
    cold = small(max_iter=1).fit(X, y)
    assert warm.log_evidence_ > cold.log_evidence_ + 20.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"max_time": -1.0}, "max_time must be a positive number"),
        ({"method": "ep", "n_inducing": "auto"}, "which method='ep' cannot do"),
        ({"validation_fraction": 1.5}, "validation_fraction must be below 1"),
        ({"resume": True}, "resume=True needs the folder"),
        ({"device": "tpu"}, "device must be one of"),
        ({"device": "gpu"}, "device='gpu', but JAX finds no such device"),
        ({"optimizer": "auto", "validation_fraction": 0.1}, "is for training by minibatches"),
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


def test_inducing_points_stay_among_the_rows_when_an_input_proves_irrelevant():
    """Its lengthscale grows; the points must not be carried along with it."""
    wide = np.column_stack([X, RNG.normal(size=(len(X), 2))])
    found = small(max_iter=3000, batch_size=300).fit(wide, y)
    assert np.all(found.kernel_.lengthscale[2:] > 3.0 * found.kernel_.lengthscale[:2].max())
    assert np.abs(found.inducing_points_[:, 2:]).max() < 1.5 * np.abs(wide[:, 2:]).max()
