"""Flight delays: a reduced run on a small table of that form, and what is said about a run."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewknots.datasets.flights import DELAY, FEATURES
from fewknots.paper.airline import Airline, passed
from fewknots.paper.experiment import Cell, Options, Result
from fewknots.paper.folder import reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`airline_8feature.parquet` with flights that are late around noon, and nothing else."""
    folder = tmp_path_factory.mktemp("flights")
    rng = np.random.default_rng(6)
    columns = {name: rng.normal(size=4000) for name in FEATURES}
    noon = np.abs(columns["dep_time"]) < 0.6
    columns[DELAY] = np.where(noon, 1.0, -1.0) + 0.3 * rng.normal(size=4000)
    pq.write_table(pa.table(columns), folder / "airline_8feature.parquet")
    return folder


def test_a_reduced_run(folder, tmp_path):
    results = reproduce(Airline(), Options(quick=True, data=folder), tmp_path, lambda moment: None)
    assert [result.failed for result in results.values()] == [None] * 3
    scores = {key: result.values["curve"]["nlp"][-1] for key, result in results.items()}
    assert scores["airline-gp-20"] < scores["airline-linear"] - 0.1
    told = results["airline-gp-20"].values
    lengthscales = dict(zip(told["inputs"], told["lengthscales"], strict=True))
    assert min(lengthscales, key=lengthscales.get) == "dep_time"
    text = (tmp_path / "README.md").read_text()
    assert "The three shortest are dep_time" in text
    for name in ("figure.png", "figure.pdf", "results.csv"):
        assert (tmp_path / name).stat().st_size > 200


def test_a_failed_rival_is_said_and_the_rest_drawn(folder, tmp_path):
    experiment = Airline()
    options = Options(quick=True, data=folder)
    cells = experiment.cells(options)
    results = {cell.key: Result(cell, {}, "MemoryError: too many rows", 0.0) for cell in cells[:2]}
    results[cells[2].key] = Result(cells[2], experiment.run(cells[2], options), None, 1.0)
    text = experiment.write(results, options, tmp_path)
    assert "failed: MemoryError: too many rows" in text
    assert (tmp_path / "figure.png").exists()


def test_the_linear_model_is_passed_in_both_scores():
    goal = {"nlp": [0.64], "error": [0.36]}
    linear = Result(Cell("airline-linear", {}), {"curve": goal}, None, 1.0)
    curve = {"seconds": [1.0, 2.0, 3.0], "nlp": [0.63, 0.62, 0.61], "error": [0.4, 0.37, 0.35]}
    assert passed(curve, linear) == "3.0 s"
    assert passed(curve | {"error": [0.4, 0.4, 0.4]}, linear) == "never"
