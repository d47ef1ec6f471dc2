"""Several rows at once: covariances, samples, draws of functions."""

from copy import copy
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from fewknots import GPClassifier, GPRegressor
from fewknots.combined import CombinedPosterior
from fewknots.joint import Joint
from fewknots.kernels import RBF, Kernel, Linear

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 2)) * [1.0, 30.0] + [0.0, 500.0]
y = 200.0 + 30.0 * np.sin(2.0 * X[:, 0]) + 0.3 * (X[:, 1] - 500.0) + 3.0 * RNG.normal(size=40)
ASKED = X[:6] + np.array([0.3, 5.0])
FIXED = {"learn_kernel": False, "learn_noise": False, "standardize": False, "warp": None}


@pytest.fixture(scope="module")
def regressors():
    """The same process three times: scikit-learn's, exact, held by all rows as inducing points."""
    theirs = GaussianProcessRegressor(
        kernels.ConstantKernel(900.0) * kernels.RBF([0.8, 40.0]), alpha=9.0, optimizer=None
    ).fit(X, y)
    kernel = RBF([0.8, 40.0], 900.0)
    exact = GPRegressor(kernel, noise=9.0, **FIXED).fit(X, y)
    held = {"method": "titsias", "inducing_points": X, "learn_inducing": False, "jitter": 1e-10}
    return theirs, exact, GPRegressor(kernel, noise=9.0, **held, **FIXED).fit(X, y)


@pytest.fixture(scope="module")
def fitted(moons):
    """A classifier with a posterior of each kind, by name."""
    X, y = moons[0][:40], moons[1][:40]
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    fixed = {"learn_kernel": False, "learn_inducing": False, "warp": None, "random_state": 0}
    sampled = {"predictor": "monte_carlo"}
    each = [RBF(1.5), RBF(0.7), Linear()]
    makers = {
        "points": lambda: GPClassifier("rbf", n_inducing=12, **fixed).fit(X, y),
        "rows": lambda: GPClassifier("matern32 + linear", method="full_kl", **fixed).fit(X, y),
        "per class": lambda: GPClassifier(each, n_inducing=12, **fixed).fit(X, classes),
        "coupled": lambda: GPClassifier("matern52", method="laplace", **fixed).fit(X, classes),
        "mixture": lambda: GPClassifier(
            "rbf", method="mean_field", method_options=sampled, **fixed
        ).fit(X, y),
    }
    return cache(lambda kind: makers[kind]())


KINDS = ["points", "rows", "per class", "coupled", "mixture"]


def test_covariance_against_scikit_learn(regressors):
    theirs, *ours = regressors
    mean, covariance = theirs.predict(ASKED, return_cov=True)
    for model, rtol in zip(ours, (1e-9, 1e-6), strict=True):
        found_mean, found = model.predict_latent(ASKED, return_cov=True)
        np.testing.assert_allclose(found_mean, mean, rtol=rtol)
        np.testing.assert_allclose(found, covariance, atol=rtol * 900.0)
        of_y_mean, of_y = model.predict(ASKED, return_cov=True)
        np.testing.assert_array_equal(of_y_mean, found_mean)
        np.testing.assert_allclose(of_y, found + 9.0 * np.eye(6), rtol=1e-12)
        _, std = model.predict(ASKED, return_std=True)
        np.testing.assert_allclose(np.sqrt(np.diag(of_y)), std, rtol=1e-9)


def test_samples_have_scikit_learns_moments(regressors):
    theirs, *ours = regressors
    n = 20_000
    mean, covariance = theirs.predict(ASKED, return_cov=True)
    want = theirs.sample_y(ASKED, n, random_state=0)
    for model in ours:
        for sample, noise in ((model.sample_latent, 0.0), (model.sample_y, 9.0)):
            found = sample(ASKED, n, random_state=1)
            assert found.shape == want.shape
            within_monte_carlo(found, mean, covariance + noise * np.eye(6))
    within_monte_carlo(want, mean, covariance)
    for row in range(6):
        assert ks_2samp(ours[0].sample_latent(ASKED, n)[row], want[row]).pvalue > 0.01


def within_monte_carlo(samples, mean, covariance):
    """Samples (N, n) have these moments to within 4.5 standard errors."""
    n = samples.shape[1]
    apart = samples - mean[:, None]
    assert np.all(np.abs(apart.mean(axis=1)) < 4.5 * np.sqrt(np.diag(covariance) / n))
    products = apart[:, None] * apart[None]
    error = products.std(axis=2) / np.sqrt(n)
    assert np.all(np.abs(products.mean(axis=2) - covariance) < 4.5 * error)


@pytest.mark.parametrize("kind", KINDS)
def test_variances_are_those_of_the_marginals(fitted, kind, moons):
    clf, rows = fitted(kind), moons[0][:5] + 0.2
    mean, variance = clf.predict_latent(rows)
    found_mean, covariance = clf.predict_latent(rows, return_cov=True)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-9, atol=1e-12)
    if covariance.ndim == 4:
        assert kind == "coupled"
        covariance = np.einsum("nmll->nml", covariance)
    diagonal = np.einsum("nn...->n...", covariance)
    np.testing.assert_allclose(diagonal, variance, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize(("L", "coupled"), [(1, False), (2, False), (2, True)])
def test_samples_of_a_mixture(L, coupled):
    """Its components differ in their means, which all functions have together."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2 * 3, 2 * 3)) if coupled else rng.normal(size=(L, 3, 3))
    covariance = root @ root.mT
    if coupled:
        covariance = covariance.reshape(2, 3, 2, 3).transpose(0, 2, 1, 3)
    means = rng.normal(size=(1 if coupled else 4, L, 3))
    joint = Joint(means, covariance, 1.0, np.dtype(np.float64))
    whole = joint.whole_covariance()
    if whole.ndim == 3:
        whole = whole[None]
    flat = whole.transpose(0, 2, 1, 3).reshape(3 * L, 3 * L)
    samples = joint.sampled(20_000, np.random.RandomState(0)).reshape(-1, 3 * L).T
    within_monte_carlo(samples, means.mean(axis=0).ravel(), flat)


def test_the_coupling_at_a_row_is_the_one_predictions_use(fitted, moons):
    clf, rows = fitted("coupled"), moons[0][:5] + 0.2
    _, covariance = clf.predict_latent(rows, return_cov=True)
    (each,) = clf.posterior_.mapped(lambda mean, covariance: (covariance,), clf._standardiser(rows))
    np.testing.assert_allclose(np.einsum("nnlj->ljn", covariance), each, rtol=1e-9, atol=1e-12)
    flat = covariance.transpose(0, 2, 1, 3).reshape(15, 15)
    np.testing.assert_allclose(flat, flat.T, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(flat)[0] > -1e-10
    assert np.abs(each[0, 1]).min() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_samples_and_function_draws_have_the_moments(fitted, kind, moons):
    """Of all rows and functions together; eight features a draw are enough for moments."""
    clf, rows = fitted(kind), moons[0][:4] + 0.2
    mean, covariance = clf.predict_latent(rows, return_cov=True)
    if mean.ndim == 2:
        if covariance.ndim == 3:
            covariance = np.einsum("nml,lj->nmlj", covariance, np.eye(3))
        mean, covariance = mean.ravel(), covariance.transpose(0, 2, 1, 3).reshape(12, 12)
    n = 4000
    draws = clf.sample_functions(n, random_state=2, n_features=8)
    for found in (clf.sample_latent(rows, n, random_state=1), draws(rows)):
        assert found.shape == (4, n) if len(mean) == 4 else (4, 3, n)
        within_monte_carlo(found.reshape(len(mean), n), mean, covariance)


def test_function_draws_are_distributed_as_samples(regressors):
    """A Kolmogorov-Smirnov test at each row and along a random direction."""
    _, exact, held = regressors
    rows = np.vstack([ASKED, X[:2]])
    direction = np.random.default_rng(0).normal(size=8)
    for model in (exact, held):
        samples = model.sample_latent(rows, 4000, random_state=0)
        draws = model.sample_functions(1000, random_state=1, n_features=256)(rows)
        for one, other in (
            *zip(samples, draws, strict=True),
            (direction @ samples, direction @ draws),
        ):
            assert ks_2samp(one, other).pvalue > 0.01


def test_a_draw_at_the_inducing_points_is_one_of_q(regressors):
    """Even where the prior's part is very rough: two waves."""
    _, _, held = regressors
    Z = held.inducing_points_[:5]
    mean, variance = held.predict_latent(Z)
    found = held.sample_functions(1000, random_state=0, n_features=2)(Z)
    for draws, m, v in zip(found, mean, variance, strict=True):
        assert kstest(draws, "norm", args=(m, np.sqrt(v))).pvalue > 0.01


def test_a_draw_is_one_function(regressors):
    draws = regressors[2].sample_functions(3, random_state=0)
    assert len(draws) == 3
    values = draws(ASKED)
    np.testing.assert_allclose(draws(ASKED[2:4]), values[2:4], rtol=1e-10)
    again = regressors[2].sample_functions(3, random_state=0)
    np.testing.assert_array_equal(again(ASKED), values)
    assert not np.allclose(regressors[2].sample_functions(3, random_state=1)(ASKED), values)


@pytest.mark.parametrize("kind", ["points", "per class"])
def test_draws_have_derivatives(fitted, kind, moons, float64):
    draws = fitted(kind).sample_functions(2, random_state=0)
    x = moons[0][3]
    gradient = jax.jit(jax.jacobian(lambda x: draws(x[None])[0]))(jnp.asarray(x))
    np.testing.assert_allclose(draws(jnp.asarray(x[None])), draws(x[None]), rtol=1e-10)
    for d, step in enumerate(1e-5 * np.eye(3)):
        slope = (draws((x + step)[None]) - draws((x - step)[None]))[0] / 2e-5
        np.testing.assert_allclose(gradient[..., d], slope, rtol=1e-6, atol=1e-8)


def test_the_caller_sets_the_dtype_of_jax(regressors):
    draws = regressors[1].sample_functions(2, random_state=0)
    found = draws(jnp.asarray(ASKED))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, draws(ASKED), rtol=1e-3)


def test_a_column_of_a_table(moons):
    pandas = pytest.importorskip("pandas")
    X, y = moons
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    fixed = {"learn_kernel": False, "learn_inducing": False, "random_state": 0}
    clf = GPClassifier(RBF(columns=["b"]), n_inducing=5, **fixed).fit(table, y)
    draws = clf.sample_functions(2, random_state=0)
    moved = table.assign(a=7.0)
    np.testing.assert_array_equal(draws(table[:4]), draws(moved[:4]))


def test_close_rows_need_jitter_and_no_more(regressors):
    """A thousand rows on a line, for a smooth function: a covariance of low rank."""
    line = np.linspace(-1.0, 1.0, 1000)[:, None] * [1.0, 0.0] + [0.0, 500.0]
    samples = regressors[1].sample_latent(line, 3)
    assert np.abs(np.diff(samples, 2, axis=0)).max() < 0.05  # where values change by 30


def test_float32(moons):
    X, y = moons
    fixed = {"learn_kernel": False, "learn_inducing": False, "random_state": 0}
    clf = GPClassifier("rbf", n_inducing=12, dtype="float32", **fixed).fit(X, y)
    mean, variance = clf.predict_latent(X[:20])
    samples = clf.sample_latent(X[:20], 4000)
    np.testing.assert_allclose(samples.std(axis=1), np.sqrt(variance), rtol=0.06)
    draws = clf.sample_functions(500, random_state=0, n_features=64)(X[:20])
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5.0 * np.sqrt(variance.max() / 500))


class Plain(Kernel):
    """A kernel without hooks."""

    def __call__(self, A, B):
        return 1.0 + A @ B.T

    def diagonal(self, A):
        return 1.0 + jnp.sum(jnp.square(A), axis=1)


def test_a_kernel_without_random_functions():
    model = GPRegressor(Plain(), **FIXED | {"standardize": True}).fit(X, y)
    assert model.sample_latent(ASKED, 2).shape == (6, 2)
    with pytest.raises(TypeError, match=r"cannot draw functions .* Plain.*`sample_latent`"):
        model.sample_functions(2)


def test_what_is_refused(regressors):
    exact = regressors[1]
    with pytest.raises(ValueError, match="return_cov cannot be combined with return_std"):
        exact.predict(ASKED, return_std=True, return_cov=True)
    for arguments in ({"n_samples": 0}, {"n_samples": 1.5}):
        with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1"):
            exact.sample_latent(ASKED, **arguments)
    with pytest.raises(ValueError, match="n_functions must be a whole number"):
        exact.sample_functions(0)
    with pytest.raises(ValueError, match=r"shape \(rows, 2\), got \(2,\)"):
        exact.sample_functions(1)(jnp.ones(2))
    with pytest.raises(ValueError, match="row 2 of X has no value in column 1"):
        exact.sample_latent(np.where(np.arange(12).reshape(6, 2) == 5, np.nan, ASKED))


def test_neighbourhoods_have_no_joint_belief(fitted, moons):
    X, y = moons
    local = GPClassifier("rbf", method="local", n_neighbors=8, max_iter=2, random_state=0)
    local.fit(X, y)
    both = copy(local)
    members = fitted("points").posterior_, local.posterior_
    both.posterior_ = CombinedPosterior(members, (0.5, 0.5))
    for clf in (local, both):
        for ask in (
            lambda: clf.predict_latent(X, return_cov=True),  # noqa: B023
            lambda: clf.sample_latent(X),  # noqa: B023
            lambda: clf.sample_functions(),  # noqa: B023
        ):
            with pytest.raises(ValueError, match="no joint distribution of several rows"):
                ask()
