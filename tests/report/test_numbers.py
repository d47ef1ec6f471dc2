"""The page about a model of numbers: its sections, its figures, and what they are drawn of."""

import re

import numpy as np
import pytest

from fewknots import GPRegressor, explain
from fewknots.kernels import RBF
from fewknots.number_scoring import coverage
from fewknots.report import write_report
from fewknots.report.number_evidence import gather_numbers
from fewknots.tables.number_baselines import NumberBaselines

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 6, (90, 2))
Y = 100.0 + 30.0 * np.sin(X[:, 0]) + 3.0 * RNG.normal(size=90)


@pytest.fixture(scope="module")
def fitted():
    """A regressor, and the baselines of the same rows."""
    reg = GPRegressor(RBF(), warp=None, random_state=0).fit(X[:50], Y[:50])
    return reg, NumberBaselines.fitted(X[:50], Y[:50])


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "r.html"
    reg, baselines = fitted
    about = {"target": "yield <b>", "n_rows": 50, "hold_out": {"rows": 3, "scores": {}}}
    names = ["heat", "rain"]
    write_report(path, reg, X[50:], Y[50:], feature_names=names, baselines=baselines, about=about)
    return path.read_text()


def test_it_has_the_sections_and_no_foreign_markup(page):
    ids = re.findall(r'<section id="(\w+)"', page)
    assert ids == ["scores", "intervals", "residuals", "inputs", "training", "card"]
    assert "yield &lt;b&gt;" in page
    assert "<b>&gt;" not in page
    assert "Predicting yield" in page
    assert "ridge regression" in page
    assert "predict(rows, return_std=True)" in page
    assert "nan" not in page.lower().replace("finance", "")


def test_its_numbers_are_those_of_the_rows(page, fitted):
    reg, _ = fitted
    rmse = float(np.sqrt(np.mean((reg.predict(X[50:]) - Y[50:]) ** 2)))
    assert f"{rmse:.4f}" in page
    shown = float(re.search(r"([\d.]+)\s%\swithin 50(?:.0)?\s%", page).group(1))
    assert shown == pytest.approx(100 * coverage(reg._seen(X[50:], Y[50:]), 0.5), abs=0.06)


def test_the_columns_that_matter_are_found(fitted):
    reg, baselines = fitted
    found = gather_numbers(reg, X[50:], Y[50:], None, None, baselines, None, None, None)
    assert found.order[0] == 0
    assert found.importance.low[0] > 0.5
    assert found.against.baseline == "ridge regression"
    assert found.against.low > 0


def test_an_effect_is_the_mean_of_predictions_with_the_doubt_of_f(fitted):
    reg, _ = fitted
    rows = explain.without_names(reg, X[:20])
    found = explain.effect(rows, 0)
    middle = len(found.values) // 2
    there = X[:20].copy()
    there[:, 0] = found.values[middle]
    mean, variance = reg.predict_latent(there)
    assert found.probability[middle] == pytest.approx(np.mean(reg.predict(there)), rel=1e-9)
    low = np.mean(mean - 1.96 * np.sqrt(variance))
    assert found.low[middle] == pytest.approx(low, rel=1e-9)


def test_rows_and_numbers_must_be_as_many(fitted, tmp_path):
    with pytest.raises(ValueError, match="y has 3 rows, X has 90"):
        write_report(tmp_path / "r.html", fitted[0], X, Y[:3])
