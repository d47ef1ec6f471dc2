"""The notebooks in examples/ run, and what a notebook shows of a fitted model."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewknots import GPClassifier, GPRegressor, load
from fewknots.kernels import RBF, Linear

from .notebooks import notebook, shown

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
SETTINGS = {"n_inducing": 8, "max_iter": 20, "tol": 0.1, "random_state": 0}


def html_of(model):
    return model._repr_mimebundle_()["text/html"]


def cells_of(name):
    cells = json.loads((NOTEBOOKS / name).read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    return ["".join(cell["source"]) for cell in code]


@pytest.fixture(scope="module")
def displayed(tmp_path_factory):
    """What both notebooks display, cell by cell, one after the other in one kernel."""
    with notebook(tmp_path_factory.mktemp("jupyter")) as run:
        return {
            name: [shown(run(cell)) for cell in cells_of(name)]
            for name in ("first_model.ipynb", "curve.ipynb")
        }


@pytest.mark.slow
def test_a_notebook_of_a_classifier(displayed):
    table, fit, answer = displayed["first_model.ipynb"]
    assert "Oslo" in table[-1]["text/html"]
    assert "iteration" in fit[-2]["text/plain"]  # the bar of the fit stays
    assert "<progress" in fit[-2]["text/html"]
    assert 'class="fewknots-model"' in fit[-1]["text/html"]
    assert "town=Rome" in fit[-1]["text/html"]
    assert "sk-estimator" in fit[-1]["text/html"]  # scikit-learn's diagram
    assert "renews" in answer[-1]["text/plain"]


@pytest.mark.slow
def test_a_notebook_of_a_regressor(displayed):
    fit, picture = displayed["curve.ipynb"]
    assert "numbers; Gaussian likelihood, noise 0.0" in fit[-1]["text/html"]
    assert "image/png" in picture[-1]


def test_lengthscales_are_in_the_units_of_the_user():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1000.0, 0.001]
    y = np.sin(X[:, 0] / 500.0)
    model = GPRegressor(RBF() + Linear(), warp=None).fit(X, y)
    found = re.findall(
        r"<th scope=\"row\">input (\d)</th><td class=\"number\">(\S+?)</td>", html_of(model)
    )
    numbers = {int(column): float(value) for column, value in found}
    expected = np.asarray(model.kernel_.k1.lengthscale) * X.std(axis=0)
    np.testing.assert_allclose([numbers[0], numbers[1]], expected, rtol=1e-3)
    assert int(found[0][0]) == 0  # the input that matters comes first


def test_names_and_labels_are_text():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(60, 2)), columns=["<script>a", "b & c"])
    y = np.where(X["b & c"] > 0, "<b>yes", "no")
    page = html_of(GPClassifier("rbf", warp=None, **SETTINGS).fit(X, y)).split("fewknots-model", 1)[
        1
    ]
    assert "&lt;script&gt;a" in page
    assert "&lt;b&gt;yes" in page
    assert "b &amp; c" in page
    assert "<script>a" not in page


def test_the_contest_and_what_holds_the_model_are_told(moons):
    X, y = moons
    model = GPClassifier("rbf", warp=None, **SETTINGS).fit(X, y)
    assert "8 inducing points" in html_of(model)
    assert "a lower bound" in html_of(model)
    model.contest_ = {"local": 0.25, "sparse_kl": 0.5}
    model.contest_gain_ = {"nlp": 0.25, "interval": (0.1, 0.4), "rows": 60}
    model.method_ = "local"
    page = html_of(model)
    assert "local 0.2500, sparse_kl 0.5000" in page
    assert "won against sparse_kl by 0.2500 nats a row on 60 validation rows" in page


def test_a_model_from_a_file_a_pipeline_and_one_that_is_not_fitted(moons, tmp_path):
    X, y = moons
    model = GPClassifier("rbf", warp=None, **SETTINGS)
    assert "fewknots-model" not in html_of(model)
    made = make_pipeline(StandardScaler(), model).fit(X, y)
    assert "GPClassifier" in html_of(made)
    model.save(tmp_path / "model.fewknots")
    again = html_of(load(tmp_path / "model.fewknots"))
    assert again.split("fewknots-model", 1)[1] == html_of(model).split("fewknots-model", 1)[1]
