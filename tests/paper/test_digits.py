"""`reproduce digits` on scikit-learn's small digits in MNIST's form."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewknots.paper import digits
from fewknots.paper.experiment import Options, Result
from fewknots.paper.folder import reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`mnist.npz` with 500 digits, of 24 x 24 pixels in a black frame."""
    folder = tmp_path_factory.mktemp("mnist")
    X, y = load_digits(return_X_y=True)
    images = np.repeat(np.repeat(X[:500].reshape(-1, 8, 8), 3, axis=1), 3, axis=2)
    images = np.pad(15.9 * images, ((0, 0), (2, 2), (2, 2))).astype(np.uint8)
    labels = y[:500].astype(np.uint8)
    np.savez(
        folder / "mnist.npz",
        train_images=images[:200],
        train_labels=labels[:200],
        test_images=images[200:320],
        test_labels=labels[200:320],
    )
    return folder


@pytest.mark.slow
def test_a_reduced_run(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "SCATTERING", {"J": 2, "L": 4, "n_components": 30})
    for name, few in (("sparse", 30), ("pixels", 30)):
        smaller = digits.WAYS[name]._replace(quick={"n_inducing": few, "max_iter": 30})
        monkeypatch.setitem(digits.WAYS, name, smaller)
    options = Options(quick=True, data=folder)
    results = reproduce(digits.Digits(), options, tmp_path, lambda moment: None)
    assert {key: result.failed for key, result in results.items()} == dict.fromkeys(results)
    assert list(results) == [f"digits-{way}" for way in digits.WAYS]
    sparse = results["digits-sparse"].values
    error = sparse["curve"]["error"][-1]
    assert error < 0.2
    assert len(sparse["mistakes"]) == round(120 * error)
    assert all(m["digit"] != m["answer"] for m in sparse["mistakes"])
    assert sum(b["count"] for b in sparse["bins"]) == 120
    assert sparse["odd_error"] <= error
    strange = sparse["strange"]
    assert strange["noise"]["entropy"] > strange["test digits"]["entropy"]
    assert 0.0 <= strange["upside down"]["sure"] <= 1.0
    for name in ("figure.png", "figure.pdf", "mistakes.png", "run.json"):
        assert (tmp_path / name).stat().st_size > 500
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["way"] for row in rows} == set(digits.WAYS)
    text = (tmp_path / "README.md").read_text()
    assert f"{1.0 - error:.4f}" in text
    assert "scikit-learn's digits" in text


def test_settings_and_failures(tmp_path):
    cells = digits.Digits().cells(Options())
    settings = {cell.key: cell.settings for cell in cells}
    assert settings["digits-sparse"]["rows"] == 60_000
    assert settings["digits-pixels"]["scattering"] is None
    quick = digits.Digits().cells(Options(quick=True))
    assert all(cell.settings["rows"] == 10_000 for cell in quick)
    failed = {cell.key: Result(cell, {}, "ValueError: no", 0.0) for cell in cells}
    assert "failed: ValueError: no" in digits.Digits().write(failed, Options(), tmp_path)


def test_bins_hold_every_answer_once():
    p = np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0], [0.05, 0.95]])
    with np.errstate(divide="ignore"):
        bins = digits._doubtful(np.log(p), np.array([1, 0, 0, 0]))
    assert [b["count"] for b in bins] == [1, 1, 1, 1]
    assert [b["right"] for b in bins] == [1.0, 1.0, 0.0, 1.0]
