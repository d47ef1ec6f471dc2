"""The linear baseline of numbers against scikit-learn's, and its file."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV

from fewknots import ModelFileError
from fewknots.tables.number_baselines import MEAN, RIDGE, NumberBaselines

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(3.0, 2.0, (60, 8)), np.ones(60)])
Y = X[:, 0] - 2.0 * X[:, 1] + 50.0 + 3.0 * RNG.normal(size=60)
Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


def test_the_line_is_ridge_regressions():
    """Of scikit-learn's, with the same penalties and leave-one-out errors."""
    found = NumberBaselines.fitted(X, Y)
    wanted = RidgeCV(alphas=60 * np.logspace(-4.0, 4.0, 17)).fit(Z, Y)
    np.testing.assert_allclose(found.coef, wanted.coef_, rtol=1e-8, atol=1e-10)
    seen = found.seen(X, Y, counts=False)
    np.testing.assert_allclose(seen[RIDGE].mean, wanted.predict(Z), rtol=1e-9)
    errors = [
        Y[n] - Ridge(wanted.alpha_).fit(np.delete(Z, n, 0), np.delete(Y, n)).predict(Z[n : n + 1])
        for n in range(60)
    ]
    assert found.noise == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)
    np.testing.assert_allclose(seen[MEAN].mean, Y.mean())


def test_weights_count_rows():
    counts = RNG.integers(0, 3, 60)
    one = NumberBaselines.fitted(X, Y, counts.astype(float))
    many = NumberBaselines.fitted(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(one.level, many.level)
    np.testing.assert_allclose(one.spread, many.spread)
    np.testing.assert_allclose(one.scale, many.scale)


def test_nothing_in_a_file_is_trusted():
    found = NumberBaselines.fitted(X, Y)
    arrays = found.arrays()
    again = NumberBaselines.restored(arrays, 9)
    np.testing.assert_array_equal(again.coef, found.coef)
    for name, wrong, message in (
        ("coef", np.zeros(3), "of shape"),
        ("level", np.asarray(np.nan), "NaN"),
        ("noise", np.asarray(0.0), "not above zero"),
    ):
        with pytest.raises(ModelFileError, match=message):
            NumberBaselines.restored(arrays | {name: wrong}, 9)
