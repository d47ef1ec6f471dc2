"""Neighbourhoods of all rows are the full methods; derivatives are those of the score."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.inference.sites import Rows
from fewknots.kernels import Matern32, Warp
from fewknots.likelihoods import Bernoulli
from fewknots.local.laplace import laplace
from fewknots.local.model import RULES, LocalModel, latent, score
from fewknots.local.neighbourhood import Labelled, covariances
from fewknots.local.training import LocalRun, fit_local
from fewknots.numerics.precision import computing_in
from fewknots.prediction import log_probabilities_of
from fewknots.progress import Reporter
from fewknots.training.schedule import Plan

from ..likelihoods.sharpened import Sharpened
from ..likelihoods.two_latent import Heteroscedastic

FULL = {"laplace": "laplace", "kl": "full_kl", "ep": "ep"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.where(X[:, 0] ** 2 + X[:, 1] + 0.3 * RNG.normal(size=30) > 0.5, 1.0, -1.0)
QUERIES = Rows(RNG.normal(size=(5, 3)), np.sign(RNG.normal(size=5)), np.array([1, 2, 1, 0.5, 1.0]))
ALL = np.tile(np.arange(30), (5, 1))
LENGTHSCALE = np.array([1.0, 2.0, 1.5])


def model(variance, mean=0.0, sharpness=1.0, lengthscale=LENGTHSCALE):
    kernel = Matern32(lengthscale=lengthscale, variance=np.asarray(variance))
    return LocalModel(kernel, np.asarray(mean), np.asarray(sharpness))


def rows(weights=None):
    return Rows(X, Y, np.ones(30) if weights is None else weights)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("rule", RULES)
def test_all_rows_as_neighbours_are_the_full_method(rule, link):
    kernel = Matern32(lengthscale=LENGTHSCALE, variance=6.0)
    fixed = {"learn_kernel": False, "likelihood": link}
    full = GPClassifier(kernel, method=FULL[rule], **fixed).fit(X, Y)
    options = {"method": "local", "method_options": {"inference": rule}, "n_neighbors": 30}
    local = GPClassifier(kernel, **options, **fixed).fit(X, Y)
    one, other = (clf.predict_latent(QUERIES.X) for clf in (full, local))
    np.testing.assert_allclose(other, one, atol=1e-6)
    np.testing.assert_allclose(
        local.predict_proba(QUERIES.X), full.predict_proba(QUERIES.X), atol=1e-7
    )


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("rule", "link"), [("laplace", "probit"), ("kl", "probit"), ("ep", "logit")]
)
def test_derivatives_are_those_of_the_score(rule, link):
    at = model(4.0, mean=0.3, sharpness=1.3)
    likelihood = Bernoulli(link)

    scored = jax.jit(score, static_argnums=0)

    def found(model):
        return scored(rule, likelihood, model, rows(), QUERIES, ALL)

    gradient = found(at).gradient

    def slope(change):
        step = 1e-5
        up, down = (found(change(sign * step)).log_prob for sign in (1.0, -1.0))
        return float(up - down) / (2.0 * step)

    def longer(step):
        return model(4.0, 0.3, 1.3, LENGTHSCALE + np.array([step, 0.0, 0.0]))

    wanted = {
        "mean": (slope(lambda h: at._replace(mean=at.mean + h)), gradient.mean),
        "sharpness": (slope(lambda h: at._replace(sharpness=at.sharpness + h)), gradient.sharpness),
        "variance": (slope(lambda h: model(4.0 + h, 0.3, 1.3)), gradient.kernel.variance),
        "lengthscale": (slope(longer), gradient.kernel.lengthscale[0]),
    }
    for name, (measured, derived) in wanted.items():
        assert float(derived) == pytest.approx(measured, rel=1e-4, abs=1e-6), name


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("rule", RULES)
def test_derivatives_for_warps(rule):
    inner = model(4.0).kernel

    of_rows = jax.jit(score, static_argnums=0)

    def scored(below, above):
        kernel = Warp(inner, below, above, columns=(1, 0))
        at = LocalModel(kernel, np.asarray(0.3), np.asarray(1.3))
        found = of_rows(rule, Bernoulli("probit"), at, rows(), QUERIES, ALL)
        return found.log_prob, found.gradient.kernel

    below, above = np.array([0.4, 1.3]), np.array([0.7, 0.2])
    gradient = scored(below, above)[1]
    for i, step in enumerate(1e-5 * np.eye(2)):
        for found, ends in (
            (gradient.below[i], (scored(below + step, above), scored(below - step, above))),
            (gradient.above[i], (scored(below, above + step), scored(below, above - step))),
        ):
            measured = float(ends[0][0] - ends[1][0]) / 2e-5
            assert float(found) == pytest.approx(measured, rel=1e-4, abs=1e-6)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("rule", RULES)
def test_derivative_for_the_likelihoods_own_parameter(rule):
    scored = jax.jit(score, static_argnums=0)

    def found(sharpness):
        likelihood = Sharpened(jnp.asarray(sharpness))
        return scored(rule, likelihood, model(4.0, 0.3, 1.3), rows(), QUERIES, ALL)

    difference = float(found(1.7 + 1e-4).log_prob - found(1.7 - 1e-4).log_prob) / 2e-4
    derivative = found(1.7).d_likelihood.sharpness
    assert float(derivative) == pytest.approx(difference, rel=1e-4, abs=1e-6)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("learn", [True, False])
def test_the_likelihoods_own_parameter_is_learned(learn):
    start, likelihood = model(4.0), Sharpened(np.asarray(0.2))
    run = LocalRun(rows(), start, likelihood, 10, "laplace", Plan("adam", 30, 40), 0, 0.0, learn)
    run = run._replace(learn_likelihood=learn)
    found = fit_local(run, Reporter(None, 0, 1))
    assert (float(found.model.likelihood.sharpness) > 0.22) == learn
    assert found.posterior.likelihood is found.model.likelihood


@pytest.mark.usefixtures("float64")
def test_fewer_neighbours_may_teach_than_predict():
    plan = Plan("adam", 30, 4)
    ten = LocalRun(rows(), model(4.0), Bernoulli(), 10, "laplace", plan, 0, 0.0, True)
    runs = ten, ten._replace(n_neighbors=5), ten._replace(n_to_learn=5)
    by_ten, by_five, taught = (fit_local(run, Reporter(None, 0, 1)) for run in runs)
    learned = [float(found.model.kernel.variance) for found in (by_ten, by_five, taught)]
    assert learned[2] == learned[1] != learned[0]
    assert taught.posterior.n_neighbors == 10


@pytest.mark.usefixtures("float64")
def test_several_latent_functions_are_refused():
    run = LocalRun(
        rows(), model(4.0), Heteroscedastic(), 10, "kl", Plan("adam", 30, 4), 0, 0.0, True
    )
    with pytest.raises(ValueError, match="method='local' is derived for one latent function"):
        fit_local(run, Reporter(None, 0, 1))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("rule", RULES)
def test_a_neighbour_that_is_not_there_says_nothing(rule):
    few = ALL[:, :12]
    padded = np.where(np.arange(20) < 12, ALL[:, :20], -1)
    likelihood = Bernoulli()
    plain = latent(rule, likelihood, model(4.0), rows(), QUERIES.X, few)
    filled = latent(rule, likelihood, model(4.0), rows(), QUERIES.X, padded)
    np.testing.assert_allclose(filled, plain, atol=1e-8)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("rule", RULES)
def test_a_weight_of_two_is_a_row_twice(rule):
    weights = np.ones(30)
    weights[3] = 2.0
    twice = np.concatenate([ALL, np.full((5, 1), 3)], axis=1)
    likelihood = Bernoulli()
    weighted = latent(rule, likelihood, model(4.0), rows(weights), QUERIES.X, ALL)
    repeated = latent(rule, likelihood, model(4.0), rows(), QUERIES.X, twice)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_hard_neighbourhoods_stay_finite(rule):
    """Twenty copies of one row, of one class, and a kernel of enormous variance, in float32."""
    at = jax.tree.map(np.float32, model(1e4))
    same = Rows(np.ones((20, 3), np.float32), np.ones(20, np.float32), np.ones(20, np.float32))
    numbers = np.tile(np.arange(20), (2, 1))
    queries = np.array([[1, 1, 1], [90, 90, 90]], np.float32)
    (mean,), (variance,) = latent(rule, Bernoulli(), at, same, queries, numbers)
    assert np.all(np.isfinite(mean))
    assert mean[0] > 1.0
    assert mean[1] == pytest.approx(0.0, abs=1e-3)  # nothing is known out there
    assert variance[1] == pytest.approx(1e4, rel=1e-3)


class Counting(Bernoulli):
    """Notes how often it is looked at."""

    def at(self, y, f):
        jax.debug.callback(lambda _: LOOKS.append(1), jnp.sum(f))
        return super().at(y, f)


LOOKS = []


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_steps_that_rounding_decides_are_not_chased(link):
    """With weights of 1e30 no step is a gain beyond rounding: halving them 50 times finds none."""
    rng = np.random.default_rng(0)
    queries, neighbours = rng.normal(size=(4, 2)), rng.normal(size=(4, 20, 2))
    signs, weights = np.sign(rng.normal(size=(4, 20))), 1e30 * rng.uniform(0.5, 2.0, size=(4, 20))
    labels = Labelled(jnp.asarray(signs), jnp.asarray(weights))
    kernel = Matern32(lengthscale=1.0, variance=3.0)
    prior = covariances(kernel, jnp.asarray(queries), jnp.asarray(neighbours))
    LOOKS.clear()
    found = laplace(prior, labels, Counting(link), 0.0, 1e-4)
    jax.effects_barrier()
    assert np.isfinite(found.slope).all()
    assert 0 < len(LOOKS) < 35


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("variance", [4.0, 300.0])
def test_float32_goes_without_factors_to_the_same_predictions(link, variance):
    """Conjugate gradients there, Cholesky factors in float64."""
    queries = RNG.normal(size=(5, 3))
    found = {}
    for dtype in (np.float32, np.float64):
        at, known = jax.tree.map(dtype, (model(variance, 0.3, 1.3), rows()))
        with computing_in(np.dtype(dtype)):
            latents = latent("laplace", Bernoulli(link), at, known, dtype(queries), ALL)
            found[dtype] = [np.asarray(part[0], np.float64) for part in latents]
    mean, spread = found[np.float64]
    error = np.abs(found[np.float32][0] - mean) / np.sqrt(spread)
    assert np.max(error) < 0.01
    np.testing.assert_allclose(found[np.float32][1], spread, rtol=1e-3)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("variance", [1.0, 30.0, 1000.0])
def test_probabilities_of_many_neighbourhoods_are_those_of_exact_systems(link, variance):
    """Close rows and far ones, of one class, of two, and with a label out of place."""
    rng = np.random.default_rng(1)
    centres = rng.uniform(-3.0, 3.0, size=(40, 3))
    near = (np.arange(40)[:, None] * 20 + np.arange(20)).astype(np.int32)
    spread = np.geomspace(0.01, 3.0, 40)[:, None, None]
    around = (centres[:, None] + spread * rng.normal(size=(40, 20, 3))).reshape(-1, 3)
    share = np.repeat([0.0, 0.05, 0.5, 1.0], 10)  # of the second class
    signs = np.where(rng.uniform(size=(40, 20)) < rng.permutation(share)[:, None], 1.0, -1.0)
    store = Rows(around, signs.ravel(), np.ones(800))
    found = {}
    for dtype in (np.float32, np.float64):
        at, known = jax.tree.map(dtype, (model(variance, 0.3, 1.3), store))
        with computing_in(np.dtype(dtype)):
            latents = latent("laplace", Bernoulli(link), at, known, dtype(centres), near)
        mean, spread_of_f = (np.asarray(part, np.float64) for part in latents)
        found[dtype] = np.exp(log_probabilities_of(Bernoulli(link), mean, spread_of_f))
    np.testing.assert_allclose(found[np.float32], found[np.float64], atol=2e-4)


def test_predictions_in_float32_factorise_nothing():
    """So they are no batches of LAPACK's, of which two at a time could wait for each other."""
    at, known = jax.tree.map(np.float32, (model(4.0), rows()))
    program = jax.jit(latent.__wrapped__, static_argnums=(0, 1))
    with computing_in(np.dtype(np.float32)):
        text = program.lower("laplace", Bernoulli(), at, known, np.float32(QUERIES.X), ALL)
        assert "potrf" not in text.compile().as_text()
