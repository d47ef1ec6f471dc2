import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.features import project
from fewknots.inference.natural_gradient import solve_sites
from fewknots.inference.priors import SparsePrior
from fewknots.inference.rules import Variational
from fewknots.inference.sites import Rows, prior_sites
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 2))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=60) > 0, 1.0, -1.0)


PRIOR = prior_sites(60, np.float64)
ROWS = Rows(X, y, np.ones(60))


@jax.jit
def solve(likelihood, variance, start, tolerance, max_passes):
    kernel = RBF(jnp.ones(2), variance)
    features, _ = project(kernel, jnp.asarray(X[:10]), jnp.asarray(X), jnp.asarray(1e-6))
    rows = jax.tree.map(jnp.asarray, ROWS)
    prior, rule = SparsePrior(features), Variational(likelihood)
    return features, solve_sites(prior, rule, rows, start, tolerance, max_passes)


@pytest.mark.parametrize("variance", [0.1, 1.0, 30.0, 3000.0])
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_the_fixed_point_is_the_optimum(variance, link, float64):
    """At the solution the bound's gradient in m and S vanishes, also at large variances."""
    features, solution = solve(Bernoulli(link), variance, PRIOR, 0.0, 2000)
    A, expected, q = np.asarray(features.explained), solution.terms, solution.belief.gaussian
    d_mean = A.T @ expected.slope[0] - q.mean[0]
    S = np.asarray(q.factor[0].T @ q.factor[0])
    d_cov = np.linalg.inv(S) - np.eye(10) - (A * np.asarray(expected.curvature[0])[:, None]).T @ A
    np.testing.assert_allclose(d_mean, 0.0, atol=2e-5)
    np.testing.assert_allclose(S @ d_cov @ S, 0.0, atol=1e-5)


def test_more_passes_never_lower_the_bound(float64):
    bounds = [float(solve(Bernoulli(), 300.0, PRIOR, 0.0, n)[1].objective) for n in range(1, 25)]
    assert np.all(np.diff(bounds) > -1e-10)
    assert bounds[-1] > bounds[0] + 10


def test_it_stops_when_the_gain_is_below_the_tolerance(float64):
    rough = float(solve(Bernoulli(), 3.0, PRIOR, 1.0, 500)[1].objective)
    fine = float(solve(Bernoulli(), 3.0, PRIOR, 1e-12, 500)[1].objective)
    assert 1e-9 < fine - rough < 1.0


def test_restarting_at_the_solution_stays_there(float64):
    _, first = solve(Bernoulli(), 3.0, PRIOR, 0.0, 500)
    _, again = solve(Bernoulli(), 3.0, first.sites, 0.0, 500)
    np.testing.assert_allclose(again.objective, first.objective, rtol=1e-14)
