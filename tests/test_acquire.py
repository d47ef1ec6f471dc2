"""Scores of rows: against quadrature, random numbers and limiting cases."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_softmax, ndtr
from scipy.stats import entropy, norm

from fewknots import GPClassifier, GPRegressor, acquire
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, MultinomialProbit, Softmax

MEANS, VARIANCES = np.array([0.0, 0.7, -3.0, 8.0]), np.array([0.0, 0.5, 4.0, 300.0])
LINKS = {"probit": ndtr, "logit": expit}


def entropy_of(likelihood, mean, variance):
    return np.asarray(likelihood.conditional_entropy(jnp.asarray(mean), jnp.asarray(variance)))


@pytest.mark.parametrize("link", LINKS)
def test_entropy_of_two_classes_against_quadrature(link, float64):
    def integrand(z, m, v):
        p = LINKS[link](m + np.sqrt(v) * z)
        return norm.pdf(z) * entropy([p, LINKS[link](-m - np.sqrt(v) * z)])

    cases = np.array([(m, v) for m in MEANS for v in VARIANCES])
    found = entropy_of(Bernoulli(link), cases[None, :, 0], cases[None, :, 1])
    want = [
        quad(integrand, -12, 12, args=(m, v), points=[-m / np.sqrt(v)] if v else None, limit=200)[0]
        for m, v in cases
    ]
    np.testing.assert_allclose(found, want, atol=1e-7)


def test_a_softmax_of_two_is_a_logit_of_the_difference(float64):
    rng = np.random.default_rng(0)
    mean, variance = 2.0 * rng.normal(size=(2, 9)), rng.gamma(1.0, size=(2, 9)) * 10.0
    difference = (mean[1] - mean[0])[None], variance.sum(axis=0)[None]
    logit = entropy_of(Bernoulli("logit"), *difference)
    np.testing.assert_allclose(entropy_of(Softmax(2), mean, variance), logit, atol=1e-7)
    probit = entropy_of(Bernoulli("probit"), difference[0] / 2**0.5, difference[1] / 2)
    np.testing.assert_allclose(entropy_of(MultinomialProbit(2), mean, variance), probit, atol=0.01)


def test_entropies_of_many_classes_against_random_numbers(float64):
    rng = np.random.default_rng(0)
    mean, root = 2.0 * rng.normal(size=(4, 5)), 2.0 * rng.normal(size=(5, 4, 4))
    covariance = np.moveaxis(root @ root.mT, 0, -1)
    variance = np.einsum("lln->ln", covariance)
    z = rng.normal(size=(100_000, 4))
    for spread, want_of, atol in (
        (variance, lambda n: z * np.sqrt(variance[:, n]), 5e-3),
        (covariance, lambda n: z @ root[n].T, 2e-2),
    ):
        found = entropy_of(Softmax(4), mean, spread)
        for n in range(5):
            log_p = log_softmax(mean[:, n] + want_of(n), axis=1)
            assert found[n] == pytest.approx(-np.sum(np.exp(log_p) * log_p, 1).mean(), abs=atol)


@pytest.fixture(scope="module")
def classifier(moons):
    X, y = moons
    return GPClassifier("rbf", n_inducing=12, learn_kernel=False, random_state=0).fit(X, y)


def test_bald_is_what_f_explains_of_the_entropy(classifier, moons):
    """By samples of f, whose labels' entropy is averaged."""
    rows = moons[0][:10] + 0.3
    p = ndtr(classifier.sample_latent(rows, 20_000))
    both = np.stack([p, 1.0 - p])
    want = entropy(both.mean(axis=2)) - entropy(both).mean(axis=1)
    found = acquire.bald(classifier, rows)
    np.testing.assert_allclose(found, want, atol=0.01)
    assert found.max() > 0.08
    total = acquire.predictive_entropy(classifier, rows)
    np.testing.assert_allclose(total, entropy(classifier.predict_proba(rows).T), rtol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "local", "n_neighbors": 8, "max_iter": 1},
        {"method": "mean_field", "method_options": {"predictor": "monte_carlo"}},
    ],
    ids=["local", "mixture"],
)
def test_bald_of_other_posteriors(moons, arguments):
    X, y = moons[0][:40], moons[1][:40]
    clf = GPClassifier("rbf", learn_kernel=False, warp=None, random_state=0, **arguments).fit(X, y)
    far = X + np.array([50.0, 0.0, 0.0])
    assert np.all(acquire.bald(clf, far) > acquire.bald(clf, X).mean())
    assert np.all(acquire.bald(clf, far) < np.log(2.0))
    with pytest.raises(ValueError, match=r"joint distribution of several rows|independent between"):
        acquire.select_batch(clf, X, 2)


def test_bald_of_correlated_functions(moons):
    """Many draws of all functions together, in place of the integral and its correction."""
    X = moons[0][:40]
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    clf = GPClassifier("rbf", method="laplace", learn_kernel=False, warp=None).fit(X, y)
    rows = X[:6] + 0.3
    log_p = log_softmax(clf.sample_latent(rows, 20_000), axis=1)
    conditional = -np.sum(np.exp(log_p) * log_p, axis=1).mean(axis=1)
    want = acquire.predictive_entropy(clf, rows) - conditional
    np.testing.assert_allclose(acquire.bald(clf, rows), want, atol=0.02)


def test_a_batch_begins_with_the_best_and_does_not_repeat_itself(classifier, moons):
    apart = np.linspace(20.0, 200.0, 8)[:, None] * [1.0, 0.0, 0.0]
    rows = np.repeat(moons[0][:8] + apart, 2, axis=0)  # each twice, nothing known of any
    near = np.vstack([moons[0][:4], rows])
    bald = acquire.bald(classifier, near)
    chosen = acquire.select_batch(classifier, near, 8)
    assert chosen[0] == np.argmax(bald)
    assert set((chosen - 4) // 2) == set(range(8))
    with pytest.raises(ValueError, match="size must be between 1 and the 16 rows of X, got 17"):
        acquire.select_batch(classifier, rows, 17)


def test_a_batch_of_three_classes(moons):
    X = moons[0][:40]
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    clf = GPClassifier("rbf", n_inducing=8, learn_kernel=False, learn_inducing=False, warp=None)
    clf.fit(X, y)
    chosen = acquire.select_batch(clf, X[:20], 3)
    assert chosen[0] == np.argmax(acquire.bald(clf, X[:20]))
    assert len(set(chosen)) == 3


def test_a_label_that_is_supposed_seen_is_a_noisy_observation():
    root = np.random.default_rng(0).normal(size=(5, 5))
    C = root @ root.T
    inverse = np.linalg.inv(C)
    inverse[2, 2] += 0.7
    np.testing.assert_allclose(acquire.once_seen(C, 2, 0.7), np.linalg.inv(inverse), rtol=1e-9)


@pytest.fixture(scope="module")
def regressor():
    X = np.linspace(0.0, 6.0, 12)[:, None]
    return GPRegressor(RBF(0.5), noise=0.01, learn_kernel=False, warp=None).fit(X, np.sin(X[:, 0]))


ROWS = np.array([[0.3], [1.7], [4.6], [7.5]])


def test_expected_improvement_against_quadrature(regressor):
    mean, variance = regressor.predict_latent(ROWS)
    for best, maximize in ((0.9, True), (-0.8, False)):
        sign = 1.0 if maximize else -1.0
        want = [
            quad(lambda f, m=m, v=v: sign * (f - best) * norm.pdf(f, m, np.sqrt(v)), *limits)[0]  # noqa: B023
            for m, v in zip(mean, variance, strict=True)
            for end in [m + sign * 12.0 * np.sqrt(v)]
            for limits in [(best, max(best, end)) if maximize else (min(best, end), best)]
        ]
        found = acquire.expected_improvement(regressor, ROWS, best, maximize=maximize)
        np.testing.assert_allclose(found, want, rtol=1e-6)


def test_a_hopeless_improvement_has_a_logarithm(regressor):
    """σ φ(z)/z² at first order."""
    log = acquire.expected_improvement(regressor, ROWS, 1e4, log=True)
    mean, variance = regressor.predict_latent(ROWS)
    z = (mean - 1e4) / np.sqrt(variance)
    np.testing.assert_allclose(
        log, norm.logpdf(z) - 2 * np.log(-z) + 0.5 * np.log(variance), rtol=1e-6
    )
    assert np.all(acquire.expected_improvement(regressor, ROWS, 1e4) == 0.0)


def test_probability_of_feasibility(regressor):
    mean, variance = regressor.predict_latent(ROWS)
    for below, above in ((0.5, -np.inf), (np.inf, 0.5), (0.5, -0.2), (np.inf, mean.max() + 3.0)):
        want = norm.cdf(below, mean, variance**0.5) - norm.cdf(above, mean, variance**0.5)
        if below == np.inf:
            want = norm.sf(above, mean, variance**0.5)
        found = acquire.probability_of_feasibility(regressor, ROWS, below=below, above=above)
        np.testing.assert_allclose(found, want, rtol=1e-9)
    with pytest.raises(ValueError, match="above=2 must be less than below=1"):
        acquire.probability_of_feasibility(regressor, ROWS, below=1.0, above=2.0)


def test_thompson_takes_each_row_as_often_as_it_is_the_best(regressor):
    rows = ROWS[[1, 3]]
    mean, C = regressor.predict_latent(rows, return_cov=True)
    p = norm.sf(0.0, mean[1] - mean[0], np.sqrt(C[0, 0] + C[1, 1] - 2.0 * C[0, 1]))
    found = acquire.thompson(regressor, rows, 10_000, random_state=0)
    assert 0.05 < p < 0.95
    assert found.mean() == pytest.approx(p, abs=4.0 * np.sqrt(p * (1.0 - p) / 10_000))
    fewer = acquire.thompson(regressor, rows, 10_000, random_state=0, maximize=False)
    np.testing.assert_array_equal(fewer, 1 - found)


def test_the_wrong_kind_of_model(classifier, regressor, moons):
    with pytest.raises(TypeError, match="is for a classifier, but got a GPRegressor"):
        acquire.bald(regressor, ROWS)
    with pytest.raises(TypeError, match="is for a regressor, but got a GPClassifier"):
        acquire.thompson(classifier, moons[0])
