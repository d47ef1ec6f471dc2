"""Generated sets against what is known of their distributions."""

import numpy as np
import pytest

from fewknots.datasets import generate
from fewknots.datasets.generated import WAVE_PAIRS, WAVES, substitute, three_waves

N = 200_000
A = 2.0 / np.sqrt(20.0)


@pytest.mark.parametrize(
    ("name", "means", "variances"),
    [("twonorm", (-A, A), (1.0, 1.0)), ("ringnorm", (A, 0.0), (1.0, 4.0))],
)
def test_the_two_gaussians(name, means, variances):
    _, X, y, names, splits, _ = generate(name, N, seed=1)
    assert (X.shape, len(names), splits) == ((N, 20), 20, ())
    assert abs(y.mean() - 0.5) < 0.005
    for label in (0, 1):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), means[label], atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), variances[label] * np.eye(20), atol=0.08)


def test_no_rule_does_better_on_twonorm_than_breiman_says():
    _, X, y, *_ = generate("twonorm", N, seed=2)
    error = np.mean((X.sum(axis=1) > 0) != (y == 1))
    assert abs(error - 0.0228) < 0.001  # Φ(-2)


def test_no_rule_does_better_on_ringnorm_than_breiman_says():
    _, X, y, *_ = generate("ringnorm", N, seed=3)
    wide = -20.0 * np.log(2.0) - np.sum(X**2, axis=1) / 8.0
    narrow = -np.sum((X - A) ** 2, axis=1) / 2.0
    assert abs(np.mean((wide > narrow) != (y == 1)) - 0.0125) < 0.001


def test_no_rule_does_better_on_the_three_waves_than_breiman_says():
    X, classes = three_waves(20_000, np.random.default_rng(4))
    evidence = np.empty((len(X), 3))
    shares = np.linspace(0.0, 1.0, 101)
    for k, (first, second) in enumerate(WAVE_PAIRS):
        means = np.outer(shares, WAVES[first]) + np.outer(1.0 - shares, WAVES[second])
        scores = X @ means.T - 0.5 * np.sum(means**2, axis=1)  # log N(x|mean, I), less |x|²/2
        evidence[:, k] = np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).mean(axis=1))
        evidence[:, k] += scores.max(axis=1)
    assert abs(np.mean(evidence.argmax(axis=1) != classes) - 0.14) < 0.01


def test_the_waves_have_the_published_shape():
    h1, h2, h3 = WAVES
    assert h1.tolist() == [0] * 5 + [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1] + [0] * 5
    np.testing.assert_array_equal(h2[4:], h1[:-4])
    np.testing.assert_array_equal(h3[:-4], h1[4:])
    _, X, y, *_ = generate("waveform", N, seed=5)
    assert abs(y.mean() - 1.0 / 3.0) < 0.005
    np.testing.assert_allclose(X[y == 1].mean(axis=0), (h1 + h3) / 2.0, atol=0.05)
    # the noise, and a uniform share's variance of 1/12
    variance = 1.0 + (h1 - h3) ** 2 / 12.0
    np.testing.assert_allclose(X[y == 1].var(axis=0), variance, rtol=0.05)


@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "waveform"])
def test_a_seed_settles_the_rows(name):
    first, again, other = (generate(name, 50, seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert "default_rng(7)" in first.source


def test_what_stands_in_for_idas_rows_says_so():
    found = substitute("waveform", 5000)
    assert found.X.shape == (5000, 21)
    assert [len(part) for part in found.splits[0]] == [400, 4600]
    assert "new rows, not IDA's" in found.remark


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"'banana' has no definition .* twonorm, ringnorm"):
        generate("banana", 10, 0)
    with pytest.raises(ValueError, match="n=0: draw at least one row"):
        generate("twonorm", 0, 0)
