"""The banana experiment on the data it is about, where they are at hand."""

import os

import pytest

from fewknots.datasets import available
from fewknots.paper.banana import Banana
from fewknots.paper.experiment import Options

FULL = {cell.key: cell for cell in Banana().cells(Options())}
needs_ida = pytest.mark.skipif(
    not (os.environ.get("FEWKNOTS_DATA") and available("banana")),
    reason="needs ida_banana.npz in the folder that FEWKNOTS_DATA names",
)


def test_the_grid_is_the_papers():
    assert len(FULL) == 18
    assert {cell.settings["optimizer"] for cell in FULL.values()} == {"collapsed"}  # L-BFGS-B
    assert {cell.settings["n_inducing"] for cell in FULL.values()} == {4, 8, 16, 32, 64, None}


@needs_ida
def test_sixteen_points_are_enough_for_kl():
    values = Banana().run(FULL["banana-sparse_kl-16"], Options())
    assert values["nlp"] == pytest.approx(0.248, abs=0.003)
    assert values["error"] == pytest.approx(0.113, abs=0.003)
    assert values["is_bound"]
    assert values["boundary_distance"] < 0.3  # pulled towards the boundary


@needs_ida
def test_generalized_fitc_collapses_at_64():
    values = Banana().run(FULL["banana-fitc_ep-64"], Options())
    assert values["places"] <= 48  # where they fall to depends on the last digits
