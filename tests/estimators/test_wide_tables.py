"""Very wide tables and columns of very many levels: bounded work, and still an answer."""

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, InputWarning
from fewknots.exceptions import DataError


def quick():
    return GPClassifier(n_inducing=10, max_iter=2, tol=1.0, random_state=0)


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_a_thousand_columns_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1000))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.02] = np.nan
    clf = quick().fit(X, y)
    assert 1900 < len(clf.recipe_.feature_names) <= 2000
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_a_hundred_columns_of_words():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{n}": rng.choice(["u", "v", "w"], 200) for n in range(100)})
    clf = quick().fit(table, (table["c0"] == "u").astype(int))
    assert len(clf.recipe_.feature_names) == 300
    assert np.isfinite(clf.predict_proba(table)).all()


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_five_thousand_levels():
    """The frequent ones have a feature each, the others share one."""
    rng = np.random.default_rng(0)
    code = np.minimum(rng.geometric(0.01, 6000), 99) + np.where(rng.random(6000) < 0.9, 0, 1) * (
        100 + np.arange(6000)
    )
    table = pd.DataFrame({"x": rng.normal(size=6000), "code": pd.Categorical(code.astype(str))})
    assert table["code"].nunique() > 500
    clf = quick().fit(table, (code % 2).astype(int))
    assert len(clf.recipe_.feature_names) == 52
    new = table.head(10).assign(code="another")
    other = clf.recipe_.columns[1]
    assert other.feature_names[-1] == "code=(other)"
    assert np.isfinite(clf.predict_proba(new)).all()


def test_levels_of_which_none_is_frequent():
    table = pd.DataFrame({"x": np.arange(5000.0), "code": [f"u{n}" for n in range(5000)]})
    y = np.arange(5000) % 2
    with pytest.warns(InputWarning, match="'code' holds 5,000 different texts, each in very few"):
        columns, X = quick()._encoded(table, None)
    assert (columns.recipe.names, X.shape) == (("x",), (5000, 1))
    with pytest.raises(DataError, match="no column can be used"):
        quick().fit(table[["code"]], y)


def test_more_inputs_than_a_model_can_have():
    table = pd.DataFrame({f"c{n}": ["u", "v", "w"] * 4 for n in range(3400)})
    with pytest.raises(DataError, match=r"10,200 inputs, and a model can have 10,000"):
        quick()._encoded(table, None)
