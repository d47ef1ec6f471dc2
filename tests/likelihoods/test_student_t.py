"""Noise with outliers: its limit, and a solver whose sites may have negative precisions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPRegressor
from fewknots.inference.features import project
from fewknots.inference.natural_gradient import solve_sites
from fewknots.inference.priors import SparsePrior
from fewknots.inference.rules import Variational
from fewknots.inference.sites import Rows, Sites, prior_sites
from fewknots.kernels import RBF
from fewknots.likelihoods import Gaussian, StudentT
from fewknots.training.steps import Naturals, gaussian, on_the_curve

pytestmark = pytest.mark.usefixtures("float64")
RNG = np.random.RandomState(5)
X = RNG.uniform(-2.0, 2.0, size=(60, 1))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=60)
OUTLYING = np.where(np.arange(60) % 6 == 0, Y + 3.0 * np.sign(RNG.normal(size=60)), Y)
SETTINGS = {
    "kernel": RBF(0.7, 1.0), "learn_kernel": False, "learn_noise": False, "learn_inducing": False,
    "inducing_points": X[:12], "standardize": False, "warp": None, "tol": 1e-10,
}  # fmt: skip


def test_many_degrees_of_freedom_are_gaussian_noise():
    by_t = GPRegressor(likelihood=StudentT(0.2, 1e9), **SETTINGS).fit(X, Y)
    assert by_t.method_ == "sparse_kl"
    by_gauss = GPRegressor(likelihood=Gaussian(0.04), method="sparse_kl", **SETTINGS).fit(X, Y)
    assert by_t.log_evidence_ == pytest.approx(by_gauss.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(by_t.predict_latent(X), by_gauss.predict_latent(X), atol=1e-7)
    found, want = (reg.predict_quantiles(X[:5]) for reg in (by_t, by_gauss))
    np.testing.assert_allclose(found, want, atol=1e-6)


@jax.jit
def solved(kernel, likelihood, rows, start, tolerance):
    features, _ = project(kernel, X[:12], rows.X, 1e-8)
    rule, prior = Variational(likelihood), SparsePrior(features)
    return solve_sites(prior, rule, rows, start, tolerance, 400)


@pytest.mark.parametrize("begin", ["prior", "sites of no Gaussian"])
@pytest.mark.parametrize(("variance", "scale", "excess"), [(1.0, 0.1, 1.0), (400.0, 0.02, 0.1)])
def test_the_solver_converges_at_outliers(variance, scale, excess, begin):
    """To a maximum: each site is right, some are negative, and the posterior is a Gaussian."""
    kernel, likelihood = RBF(np.array([0.7]), np.asarray(variance)), StudentT(scale, excess)
    rows = Rows(X, OUTLYING, np.ones(60))
    start = prior_sites(60, np.dtype(np.float64))
    if begin != "prior":
        start = Sites(np.full((1, 60), -9.0), np.ones((1, 60)))
    found = solved(kernel, likelihood.prepared(OUTLYING, rows.weights), rows, start, 1e-11)
    assert bool(found.solved)
    sites, terms = found.sites, found.terms
    assert np.min(sites.precision) < 0.0
    np.testing.assert_allclose(sites.precision, terms.curvature, atol=1e-3 / scale)
    slope = sites.linear - sites.precision * found.belief.mean
    np.testing.assert_allclose(slope, terms.slope, atol=1e-3 / scale)
    assert np.all(np.isfinite(found.belief.gaussian.factor))
    from_prior = solved(
        kernel, likelihood, rows, prior_sites(60, np.dtype(np.float64)), jnp.asarray(1e-11)
    )
    if variance == 1.0:  # where there is one maximum
        assert float(found.objective) == pytest.approx(float(from_prior.objective), abs=1e-6)


def test_the_local_method_refuses_it():
    with pytest.raises(ValueError, match="method='local' is for likelihoods whose logarithm is"):
        GPRegressor(likelihood="student_t", method="local").fit(X, Y)


@pytest.mark.parametrize("optimizer", ["natural_gradient", "rounds"])
def test_outliers_in_steps(optimizer):
    """By minibatches and in rounds it ends where the full batch does."""
    settings = SETTINGS | {"tol": 1e-6, "random_state": 0, "dtype": "float64"}
    full = GPRegressor(likelihood=StudentT(0.1, 0.5), **settings).fit(X, OUTLYING)
    in_steps = GPRegressor(
        likelihood=StudentT(0.1, 0.5), optimizer=optimizer, batch_size=20,
        max_iter=400 if optimizer == "natural_gradient" else 40, **settings,
    ).fit(X, OUTLYING)  # fmt: skip
    assert in_steps.log_evidence_ == pytest.approx(full.log_evidence_, abs=0.5)


def test_steps_of_minibatches_stay_among_precisions():
    """Eq. (curve) of training/steps.py, where (step) would leave no Gaussian."""
    random = np.random.RandomState(0)
    root = random.normal(size=(1, 4, 4))
    old = Naturals(jnp.asarray(root @ root.mT + np.eye(4)), jnp.asarray(random.normal(size=(1, 4))))
    aim = Naturals(old.precision - 40.0 * jnp.eye(4), jnp.asarray(random.normal(size=(1, 4))))
    q, rate = gaussian(old, np.dtype(np.float64)), 0.5
    towards = on_the_curve(old, aim, rate, q)
    new = Naturals(*(a + rate * (b - a) for a, b in zip(old, towards, strict=True)))
    straight = old.precision + rate * (aim.precision - old.precision)
    assert np.linalg.eigvalsh(straight).min() < 0.0
    assert np.linalg.eigvalsh(new.precision).min() > 0.0
    want = 0.5 * (old.precision + straight @ np.linalg.inv(old.precision) @ straight)
    np.testing.assert_allclose(new.precision, want, rtol=1e-9, atol=1e-9)
    mean = np.linalg.solve(old.precision, old.linear[..., None])
    slope = rate * (aim.linear[..., None] - aim.precision @ mean)
    moved = np.linalg.solve(new.precision, new.linear[..., None]) - mean
    np.testing.assert_allclose(moved, np.linalg.solve(new.precision, slope), rtol=1e-8)
