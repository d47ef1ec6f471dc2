"""A kernel over chosen columns, by every way of training: it never looks at the others."""

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, GPRegressor
from fewknots.kernels import RBF, Linear, Periodic, RationalQuadratic

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
TABLE = pd.DataFrame(X, columns=["age", "city", "income"])
y = (X[:, 0] + np.sin(2 * X[:, 2]) > 0).astype(int)
KERNEL = RBF(columns=["income", "age"]) + Linear(columns=["age"])
WAYS = {
    "full batch": {},
    "without points": {"method": "laplace", "n_inducing": "auto"},
    "one L-BFGS for all": {"optimizer": "lbfgs"},
    "minibatches": {"optimizer": "natural_gradient", "batch_size": 40},
    "rounds": {"optimizer": "rounds"},
    "local": {"method": "local", "n_inducing": "auto"},
}


def fitted(way, **options):
    given = {"n_inducing": 8, "max_iter": 6, "random_state": 0} | WAYS[way] | options
    return GPClassifier(KERNEL, **given)


@pytest.mark.parametrize("way", WAYS)
def test_other_columns_do_not_matter(way):
    clf = fitted(way).fit(TABLE, y)
    rbf, linear = clf.kernel_.parts()
    assert (rbf.columns, linear.columns) == ((2, 0), (0,))
    assert rbf.lengthscale.shape == (2,)
    assert np.all(np.isfinite(np.log(rbf.lengthscale)))
    before = clf.predict_proba(TABLE)
    assert np.std(before[:, 1]) > 0.1
    np.testing.assert_array_equal(clf.predict_proba(TABLE.assign(city=5.0)), before)


def test_a_choice_of_all_columns_is_no_choice():
    given = {"n_inducing": 8, "max_iter": 5, "random_state": 0}
    for kernel in (RBF, RationalQuadratic, Periodic):
        one = GPRegressor(kernel(columns=[0, 1, 2]), **given).fit(X, X[:, 0])
        other = GPRegressor(kernel(), **given).fit(X, X[:, 0])
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-8)


def test_unknown_columns_are_named():
    with pytest.raises(ValueError, match=r"RBF\.columns names the unknown column 'income'; .* age"):
        fitted("full batch").fit(TABLE[["age", "city"]], y)
    with pytest.raises(ValueError, match=r"RBF\.columns names the column 'income', but X has no"):
        fitted("full batch").fit(X, y)


def test_names_reach_a_stream(tmp_path):
    TABLE.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    clf = fitted("minibatches").fit_stream(tmp_path / "rows.parquet", target="y")
    assert clf.kernel_.k1.columns == (2, 0)
