"""Neighbourhoods of numbers: with all rows the exact posterior, closed form and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPRegressor, load
from fewknots.inference.sites import Rows
from fewknots.kernels import RBF, Matern32
from fewknots.likelihoods import Gaussian, Poisson
from fewknots.local.gaussian import gaussian
from fewknots.local.laplace import laplace
from fewknots.local.model import LocalModel, score
from fewknots.local.neighbourhood import Labelled, covariances

from ..contests import small_contests

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=30)
COUNTS = RNG.poisson(np.exp(0.5 + np.sin(X[:, 0]))).astype(float)
NEW = RNG.normal(size=(5, 3))
QUERIES = Rows(NEW, RNG.normal(size=5), np.array([1, 2, 1, 0.5, 1.0]))
ALL = np.tile(np.arange(30), (5, 1))
WEIGHTS = np.array([2.0, 0.0, 0.5] * 10)
LENGTHSCALE = np.array([1.0, 2.0, 1.5])


def model(variance=4.0, mean=0.3, lengthscale=LENGTHSCALE):
    kernel = Matern32(lengthscale=lengthscale, variance=np.asarray(variance))
    return LocalModel(kernel, np.asarray(mean), np.asarray(1.0))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_all_rows_as_neighbours_are_the_exact_posterior(weights):
    kernel = Matern32(lengthscale=LENGTHSCALE, variance=6.0)
    fixed = {"learn_kernel": False, "learn_noise": False, "noise": 0.2, "warp": None}
    exact = GPRegressor(kernel, method="exact", **fixed).fit(X, Y, weights)
    local = GPRegressor(kernel, method="local", n_neighbors=30, max_iter=1, **fixed)
    local.fit(X, Y, weights)
    for found, wanted in zip(
        local.predict(NEW, return_std=True), exact.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_all_rows_as_neighbours_are_laplaces_method_for_counts():
    """The mode by another way: SciPy on the whole posterior."""
    from scipy.optimize import minimize

    kernel = RBF(lengthscale=1.5, variance=1.0)
    likelihood = Poisson(2.0)
    fixed = {"learn_kernel": False, "learn_noise": False, "warp": None, "standardize": False}
    local = GPRegressor(
        kernel, method="local", likelihood=likelihood, n_neighbors=30, max_iter=1, **fixed
    ).fit(X, COUNTS)
    square = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    K = np.exp(-0.5 * square / 1.5**2)

    def loss(a):  # f = K a
        f = K @ a
        return np.sum(2.0 * np.exp(f) - COUNTS * f) + 0.5 * a @ f

    a = minimize(loss, np.zeros(30), method="BFGS", options={"gtol": 1e-9}).x
    cross = np.exp(-0.5 * np.sum((NEW[:, None] - X[None]) ** 2, axis=-1) / 1.5**2)
    mean, variance = local.predict_latent(NEW)
    np.testing.assert_allclose(mean, cross @ a, atol=1e-5)
    W = 2.0 * np.exp(K @ a)
    wanted = 1.0 - np.sum(cross * np.linalg.solve(K + np.diag(1.0 / W), cross.T).T, axis=1)
    np.testing.assert_allclose(variance, wanted, atol=1e-5)


@pytest.mark.usefixtures("float64")
def test_the_closed_form_is_what_newtons_method_finds():
    prior = covariances(model().kernel, jnp.asarray(NEW), jnp.asarray(X[ALL]))
    labels = Labelled(jnp.asarray(Y[ALL]), jnp.asarray(WEIGHTS[ALL]))
    likelihood, other = Gaussian(jnp.asarray(0.1)), Gaussian(jnp.asarray(0.3))
    found = gaussian(prior, labels, likelihood, 0.3, 1e-6)
    wanted = laplace(prior, labels, likelihood, 0.3, 1e-6)
    for name in ("slope", "precision", "factor"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-9)
    for one, same in zip(found.wanted(other), wanted.wanted(other), strict=True):
        np.testing.assert_allclose(one, same, atol=1e-9)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("likelihood", [Gaussian, Poisson])
def test_derivatives_are_those_of_the_score(likelihood):
    y = Y if likelihood is Gaussian else COUNTS
    queries = QUERIES._replace(y=np.abs(np.round(QUERIES.y)))
    scored = jax.jit(score, static_argnums=0)

    def found(model, parameter):
        rows = Rows(X, y, WEIGHTS)
        return scored("laplace", likelihood(jnp.asarray(parameter)), model, rows, queries, ALL)

    at = found(model(), 0.4)

    def slope(change):
        step = 1e-5
        up, down = (found(*change(sign * step)).log_prob for sign in (1.0, -1.0))
        return float(up - down) / (2.0 * step)

    first = np.array([1.0, 0.0, 0.0])
    (own,) = jax.tree.leaves(at.d_likelihood)
    wanted = {
        "mean": (slope(lambda h: (model(mean=0.3 + h), 0.4)), at.gradient.mean),
        "variance": (slope(lambda h: (model(4.0 + h), 0.4)), at.gradient.kernel.variance),
        "lengthscale": (
            slope(lambda h: (model(lengthscale=LENGTHSCALE + h * first), 0.4)),
            at.gradient.kernel.lengthscale[0],
        ),
        "own": (slope(lambda h: (model(), 0.4 + h)), own),
    }
    for name, (measured, derived) in wanted.items():
        assert float(derived) == pytest.approx(measured, rel=1e-4, abs=1e-6), name


def test_likelihoods_without_a_mode_are_refused():
    for name in ("laplace", "student_t", "heteroscedastic"):
        with pytest.raises(ValueError, match=r"method='local'.*sparse_kl"):
            GPRegressor(likelihood=name, method="local").fit(X, Y)


def test_kernel_and_noise_are_learned_as_the_user_says():
    X, y = wiggly(60)
    options = {"method": "local", "max_iter": 3, "warp": None, "noise": 4.0}
    still = GPRegressor(RBF(), learn_noise=False, **options).fit(X, y)
    assert still.noise_ == pytest.approx(4.0, rel=1e-9)
    assert still.kernel_.variance != 1.0
    noisy = GPRegressor(RBF(), learn_kernel=False, **options).fit(X, y)
    assert noisy.noise_ != pytest.approx(4.0, rel=1e-3)
    assert noisy.kernel_.variance == 1.0


def wiggly(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (n, 2))
    return X, 50.0 + 20.0 * np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 2.0 * rng.normal(size=n)


@pytest.fixture(scope="module")
def contest():
    """A contest of numbers between two methods."""
    X, y = wiggly(400)
    with small_contests(300):
        return GPRegressor(RBF(), random_state=0, warp=None).fit(X, y)


def test_a_contest_of_numbers_is_told_in_the_units_of_y(contest):
    assert set(contest.contest_) >= {"local", "sparse_kl"}
    X, y = wiggly(200, seed=1)
    nlp = -np.mean(contest.predict_log_density(X, y))
    assert abs(nlp - contest.contest_[contest.method_]) < 0.5
    assert np.sqrt(np.mean((contest.predict(X) - y) ** 2)) < 4.0
    assert abs(np.mean(contest.pit(X, y)) - 0.5) < 0.1


def test_what_neighbours_say_of_numbers_is_saved_to_the_bit(contest, tmp_path):
    X, y = wiggly(30, seed=2)
    local = GPRegressor(RBF(), method="local", max_iter=3, warp=None).fit(*wiggly(60))
    assert local.posterior_.labels.dtype == np.float64
    for number, model in enumerate((contest, local)):
        model.save(tmp_path / f"{number}.fewknots")
        again = load(tmp_path / f"{number}.fewknots")
        for one, same in zip(model._seen(X, y), again._seen(X, y), strict=True):
            np.testing.assert_array_equal(one, same)


def test_members_of_a_combination_keep_their_own_noise(tmp_path):
    """A combination made by hand: its file says what the neighbours' noise is."""
    from dataclasses import replace

    from fewknots.combined import CombinedPosterior

    X, y = wiggly(60)
    fixed = {"learn_kernel": False, "learn_noise": False, "warp": None}
    local = GPRegressor(RBF(), method="local", noise=4.0, **fixed).fit(X, y)
    other = GPRegressor(RBF(), method="sparse_kl", noise=9.0, n_inducing=5, **fixed).fit(X, y)
    both = CombinedPosterior((local.posterior_, other.posterior_), (0.5, 0.5))
    weights = {"local": 0.5, "sparse_kl": 0.5}
    fitted = replace(other._fitted, method="combined", posterior=both, combination=weights)
    other._take_in(fitted)
    other.save(tmp_path / "m.fewknots")
    again = load(tmp_path / "m.fewknots")
    assert again.noise_ == pytest.approx(9.0)
    np.testing.assert_array_equal(again.predict(X), other.predict(X))
