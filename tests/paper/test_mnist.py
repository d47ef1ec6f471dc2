"""MNIST odd against even: the paper's settings, and a reduced run on small images of that form."""

import csv

import numpy as np
import pytest

from fewknots.paper.experiment import Options, Result
from fewknots.paper.folder import reproduce
from fewknots.paper.mnist import Mnist


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`mnist.npz` with 300 blurred digits: odd ones are bright on the left."""
    folder = tmp_path_factory.mktemp("mnist")
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 10, 300).astype(np.uint8)
    images = rng.integers(0, 60, (300, 28, 28))
    images[labels % 2 == 1, 5:20, 4:10] += 150
    images[labels % 2 == 0, 5:20, 18:24] += 150
    images = images.astype(np.uint8)
    np.savez(
        folder / "mnist.npz",
        train_images=images[:200],
        train_labels=labels[:200],
        test_images=images[200:],
        test_labels=labels[200:],
    )
    return folder


def test_the_first_curve_has_the_papers_settings():
    settings = Mnist().cells(Options())[0].settings
    assert settings["n_inducing"] == 200
    assert settings["arguments"]["optimizer"] == "adadelta"
    assert settings["arguments"]["batch_size"] == 10


def test_a_reduced_run(folder, tmp_path):
    results = reproduce(Mnist(), Options(quick=True, data=folder), tmp_path, lambda moment: None)
    assert [result.failed for result in results.values()] == [None] * 3
    for result in results.values():
        curve = result.values["curve"]
        assert curve["error"][-1] < 0.1
        assert curve["passes"][-1] > 1.0
    for name in ("figure.png", "figure.pdf", "run.json"):
        assert (tmp_path / name).stat().st_size > 500
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["way"] for row in rows} == {"paper", "one-lengthscale", "defaults"}
    last = results["mnist-paper"].values["curve"]["nlp"][-1]
    assert f"| {last:.4f} |" in (tmp_path / "README.md").read_text()


def test_when_the_papers_nlp_was_reached(tmp_path):
    cells = Mnist().cells(Options())
    curve = {"seconds": [1.0, 2.5, 9.0], "nlp": [0.3, 0.068, 0.06], "error": [0.1, 0.03, 0.02]}
    curve |= {"iteration": [100, 200, 300], "passes": [1.0, 2.0, 3.0], "bound": [-3.0, -2.0, -1.0]}
    told = {"curve": curve, "seconds": 9.0, "iterations": 300}
    done = {cell.key: Result(cell, told, None, 9.0) for cell in cells[:2]}
    failed = {cells[2].key: Result(cells[2], {}, "ValueError: no", 0.0)}
    text = Mnist().write(done | failed, Options(), tmp_path)
    assert "| 2.5 " in text
    assert "0.9800" in text
    assert "failed: ValueError: no" in text
