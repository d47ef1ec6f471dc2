"""A likelihood from outside the package is whole: it fits, learns, saves, loads and predicts."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from scipy.stats import poisson

from fewknots import DataError, GPRegressor, ModelFileError, load
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, Gaussian, Likelihood, positive
from fewknots.optimize.lbfgsb import maximise
from fewknots.progress import Reporter
from fewknots.training.feed import ArrayFeed
from fewknots.training.full_batch import Problem, fit_collapsed
from fewknots.training.parameters import Learned, Model
from fewknots.training.schedule import Plan
from fewknots.training.steps import prior_base
from fewknots.training.stochastic import Run, Start, fit_stochastic

from ..reference import gaussian_expectation
from .calls import Calls

RNG = np.random.default_rng(6)
X = RNG.uniform(-2.0, 2.0, size=(300, 1))
RATE = 5.0 * np.exp(np.sin(2.0 * X[:, 0]))
Y = RNG.poisson(RATE).astype(float)


def test_expectations_and_probabilities_by_brute_force(float64):
    y, mean, variance = np.array([0.0, 3.0, 9.0]), np.array([-1.0, 0.2, 1.5]), np.full(3, 0.4)
    likelihood = Calls(1.7)

    def expected(of_rate):
        return gaussian_expectation(lambda f: of_rate(1.7 * np.exp(f)), mean, variance)

    found = jax.jit(likelihood.expectations)(y, mean[None], variance[None])
    want = expected(lambda rate: poisson.logpmf(y, rate))
    np.testing.assert_allclose(found.log_prob, want, rtol=1e-8)
    tilted = jax.jit(likelihood.tilted)(y, mean[None], variance[None])
    want = np.log(expected(lambda rate: poisson.pmf(y, rate)))
    np.testing.assert_allclose(tilted.log_prob, want, rtol=1e-4)  # nodes made for log Φ
    average, spread = likelihood.moments(mean[None], variance[None])
    np.testing.assert_allclose(average, expected(lambda rate: rate), rtol=1e-8)
    second = expected(lambda rate: rate + rate**2)
    np.testing.assert_allclose(spread, second - np.square(average), rtol=1e-8)


@pytest.mark.parametrize("method", ["sparse_kl", "full_kl", "svi"])
def test_through_the_estimator(method, tmp_path):
    settings = {"n_inducing": 15} if method != "full_kl" else {}
    reg = GPRegressor(likelihood=Calls(), method=method, random_state=0, **settings).fit(X, Y)
    mean, std = reg.predict(X, return_std=True)
    assert np.mean(np.abs(mean - RATE) / RATE) < 0.12
    assert 0.8 < np.std((Y - mean) / std) < 1.2
    start = Calls().prepared(Y, np.ones(300)).level
    assert float(reg.likelihood_.level) != float(start)  # it is learned
    assert not hasattr(reg, "noise_")
    reg.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"no likelihood 'Calls'.*likelihoods=\[ThatClass"):
        load(tmp_path / "model")
    again = load(tmp_path / "model", likelihoods=[Calls])
    np.testing.assert_array_equal(again.predict(X, return_std=True), (mean, std))
    assert float(again.likelihood_.level) == float(reg.likelihood_.level)


def test_the_choice_of_method():
    assert GPRegressor(likelihood=Calls(), max_iter=1000).fit(X[:60], Y[:60]).method_ == "full_kl"
    with pytest.raises(ValueError, match="method='titsias' is for Gaussian noise"):
        GPRegressor(likelihood=Calls(), method="titsias").fit(X, Y)
    with pytest.raises(ValueError, match="is for classes"):
        GPRegressor(likelihood=Bernoulli()).fit(X, Y)
    with pytest.raises(ValueError, match="noise is for likelihood='gaussian'"):
        GPRegressor(likelihood=Calls(), noise=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"likelihood must be one of .*'poisson'.* got 'calls'"):
        GPRegressor(likelihood="calls").fit(X, Y)


@pytest.mark.parametrize("bad", [-1.0, 2.5])
def test_what_is_no_count_is_refused(bad):
    y = Y.copy()
    y[7] = bad
    with pytest.raises(ValueError, match=f"row 7 of y is {bad:g}, which is no count"):
        GPRegressor(likelihood=Calls()).fit(X, y)


def test_minibatches_learn_its_parameter(float64):
    rows = Rows(X, Y, np.ones(300))
    likelihood = Calls().prepared(Y, rows.weights)
    model = Model(RBF(np.array([0.7]), np.asarray(1.0)), X[:15].copy(), likelihood)
    learned = Learned(True, True, True)
    problem = Problem(
        rows, model, learned, SparseKL(), maximise, 1e-6, 300, 1e-6, np.random.RandomState(0)
    )
    full = fit_collapsed(problem, Reporter(None, 0, 1))
    base = prior_base(15, np.dtype(np.float64))
    start = Start(model, base.naturals, base)
    run = Run(Plan("natural_gradient", 100, 1000), ArrayFeed(rows), start, 0, held_out=rows)
    found = fit_stochastic(run, problem, Reporter(None, 0, 1))
    assert found.evidence > full.evidence - 2.0
    assert 4.9 < float(full.model.likelihood.level) < 5.3  # the truth is 5
    assert 5.0 < float(found.model.likelihood.level) < float(likelihood.level) - 0.1
    held = replace(problem, learned=learned._replace(likelihood=False))
    assert (
        float(fit_stochastic(run, held, Reporter(None, 0, 1)).model.likelihood.level)
        == likelihood.level
    )


@pytest.mark.parametrize("way", ["minibatches", "stream", "file"])
def test_some_rows_at_a_time(way, tmp_path):
    """By minibatches, from memory or a stream, it ends near the full batch, and is kept."""
    settings = {"likelihood": Calls(), "n_inducing": 15, "random_state": 0}
    full = GPRegressor(method="sparse_kl", **settings).fit(X, Y)
    reg = GPRegressor(optimizer="natural_gradient", max_iter=600, dtype="float64", **settings)
    rows = X
    if way == "minibatches":
        reg.fit(X, Y)
    elif way == "stream":
        reg.fit_stream(X, Y)
    else:
        pd = pytest.importorskip("pandas")
        rows = pd.DataFrame({"x": X[:, 0]})
        rows.assign(calls=Y.astype(int)).to_parquet(tmp_path / "t.parquet")
        reg.fit_stream(tmp_path / "t.parquet", "calls")
    assert reg.method_ == "sparse_kl"
    assert full.log_evidence_ - 3.0 < reg.log_evidence_ < full.log_evidence_ + 1e-3
    assert np.mean(np.abs(reg.predict(rows) - full.predict(X)) / RATE) < 0.05
    reg.save(tmp_path / "model")
    again = load(tmp_path / "model", likelihoods=[Calls])
    np.testing.assert_array_equal(again.predict(rows), reg.predict(rows))


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        (np.where(np.arange(300) == 7, 2.5, Y), "row 7 of y is 2.5, which is no count"),
        (np.where(np.arange(300) == 7, 1e200, Y), r"row 7: the target: it is 1e\+200"),
        (np.full(300, "many"), "the target: it is not a column of numbers"),
    ],
)
def test_a_stream_of_what_is_no_count_is_refused(targets, says):
    with pytest.raises(DataError, match=says):
        GPRegressor(likelihood=Calls()).fit_stream(X, targets)


def test_a_stream_in_the_units_of_y():
    """Of numbers with Gaussian noise, whose mean and scale come from the stream."""
    y = 1000.0 + 50.0 * np.sin(2.0 * X[:, 0]) + 5.0 * RNG.normal(size=300)
    settings = {"method": "sparse_kl", "n_inducing": 15, "random_state": 0, "dtype": "float64"}
    full = GPRegressor(**settings).fit(X, y)
    reg = GPRegressor(optimizer="natural_gradient", max_iter=2000, **settings).fit_stream(X, y)
    assert reg.log_evidence_ == pytest.approx(full.log_evidence_, abs=15.0)
    assert reg.noise_ == pytest.approx(full.noise_, rel=0.3)
    np.testing.assert_allclose(reg.predict(X), full.predict(X), atol=5.0)


def test_the_default_is_gaussian_noise():
    """As an object, in the units of y, it is what `noise` is."""
    y = 100.0 + 10.0 * np.sin(2.0 * X[:80, 0])
    settings = {"kernel": RBF(0.7, 1.0), "learn_kernel": False, "learn_noise": False}
    one = GPRegressor(noise=4.0, **settings).fit(X[:80], y)
    other = GPRegressor(likelihood=Gaussian(4.0), **settings).fit(X[:80], y)
    assert one.log_evidence_ == other.log_evidence_
    assert other.noise_ == pytest.approx(4.0)
    assert float(other.likelihood_.noise) == pytest.approx(4.0)
    low, middle, high = one.predict_quantiles(X[:5]).T
    mean, std = one.predict(X[:5], return_std=True)
    np.testing.assert_allclose(middle, mean)
    np.testing.assert_allclose([mean - 1.959963984540054 * std, high], [low, 2 * mean - low])
    with pytest.raises(ValueError, match="levels must be probabilities"):
        one.predict_quantiles(X[:5], [1.5])


class OnlyExpectations(Likelihood):
    """The least that a variational method asks for."""

    level: Any = positive(5.0)
    expectations = Calls.expectations
    moments = Calls.moments


def test_minibatches_ask_for_no_more_than_they_use(capfd):
    settings = {"likelihood": OnlyExpectations(), "n_inducing": 8, "max_iter": 20}
    by_steps = GPRegressor(optimizer="natural_gradient", random_state=0, **settings)
    assert np.isfinite(by_steps.fit(X, Y).predict(X)).all()
    with pytest.raises(NotImplementedError, match="OnlyExpectations has no method `tilted`"):
        by_steps.set_params(validation_fraction=0.2).fit(X, Y)
    assert "Traceback" not in capfd.readouterr().err  # of a thread
