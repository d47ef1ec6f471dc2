"""Classifiers to report on, fitted once."""

from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from fewknots import GPClassifier
from fewknots.data.sources import Place
from fewknots.kernels import RBF
from fewknots.tables.model import Baselines
from fewknots.tables.recipe import Recipe, RecipeLearner

LONG = "Wholesale of agricultural and other raw materials"


class TwoBaselines:
    """What `write_report` asks of baselines: probabilities by name."""

    def probabilities(self, X):
        slope = 1.0 / (1.0 + np.exp(-(X[:, 0] - X[:, 0].mean())))
        return {"majority class": np.full(len(X), 0.4), "logistic regression": slope}


@pytest.fixture(scope="session")
def fitted(moons):
    """A small classifier of three inputs, and rows it has not seen."""
    X, y = moons
    labels = np.array(["no", "yes"])[y]
    classifier = GPClassifier(
        "matern32 + linear", n_inducing=8, max_iter=15, tol=0.1, random_state=0
    )
    return classifier.fit(X[:50], labels[:50]), X[50:], labels[50:]


@pytest.fixture(scope="session")
def baselines():
    return TwoBaselines()


class OfATable(NamedTuple):
    """A classifier of a table's columns, and the table."""

    classifier: GPClassifier
    X: np.ndarray
    y: np.ndarray
    recipe: Recipe
    rows: pa.Table
    baselines: Baselines

    def options(self):
        return {"recipe": self.recipe, "rows": self.rows, "baselines": self.baselines}


@pytest.fixture(scope="session")
def of_a_table():
    """Ten columns of all kinds: numbers, a date, two texts with long levels, true and false."""
    rng = np.random.default_rng(1)
    n = 120
    days = rng.integers(900, size=n)
    sector = rng.choice([LONG, "Retail", "Manufacture of optical products and electronics"], n)
    columns = {f"measure_{i}": pa.array(rng.normal(size=n)) for i in range(5)}
    columns["sector"] = pa.array(sector.tolist())
    columns["booked"] = pa.array([datetime(2022, 1, 3) + timedelta(days=int(d)) for d in days])
    columns["member"] = pa.array((rng.random(n) < 0.5).tolist())
    columns["place"] = pa.array(rng.choice(["north", "south"], n).tolist())
    columns["a column with a name that is longer than most"] = pa.array(rng.normal(size=n))
    table = pa.table(columns)
    score = np.array(columns["measure_0"]) + 2.0 * (sector == "Retail")
    score = score + 2.0 * np.sin(2 * np.pi * days / 365.25)
    y = np.where(score + 0.5 * rng.normal(size=n) > 0.7, "yes", "no")
    learner = RecipeLearner(table.schema, table.column_names, {}, from_csv=False)
    for batch in table.to_batches():
        learner.add(batch, Place("table"))
    recipe = learner.recipe()
    X = recipe.encode(table, Place("table"))
    kernel = RBF(lengthscale=np.full(X.shape[1], 4.0), variance=9.0)
    classifier = GPClassifier(kernel, method="laplace", learn_kernel=False).fit(X[:60], y[:60])
    baselines = Baselines.fitted(X[:60], (y[:60] == "yes").astype(float))
    return OfATable(classifier, X[60:], y[60:], recipe, table.slice(60), baselines)
