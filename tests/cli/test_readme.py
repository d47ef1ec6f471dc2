"""The commands of README and docs/recipes.md, one after the other, where local wins."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ..contests import small_contests

ROOT = Path(__file__).parents[2]


def commands(document):
    """The lines of a document that call fewknots, as a shell would read them."""
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("fewknots ")]


def flights(n=1500, seed=0):
    """Hundreds of small heaps of one label each: more than inducing points can follow."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n // 5, 3))
    late = rng.random(len(centres)) < 0.5
    rng = np.random.default_rng(seed)
    heap = rng.permutation(n) % len(centres)
    table = pd.DataFrame(centres[heap] + 0.01 * rng.normal(size=(n, 3)), columns=list("abc"))
    return table.assign(late=late[heap])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("readme")
    flights().to_parquet(path / "flights.parquet")
    flights(seed=1)[:50].drop(columns="late").to_parquet(path / "new.parquet")
    return path


@pytest.mark.slow
def test_the_sequence_from_file_to_service(fewknots, folder, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.chdir(folder)
    shown = commands("docs/recipes.md")
    assert [words[0] for words in shown] == ["fit", "predict", "report", "fit", "export"]
    assert commands("README.md") == [*shown[:3], ["inspect", "flights.fewknots"]]
    said = []
    with small_contests(900):
        for words in shown:
            done = fewknots(*words)
            assert done.code == 0, (words, done.err)
            said.append(done.out)
    assert "Method: local, which won against sparse_kl by" in said[0]
    assert "anyone who has the file can read these rows (--no-rows avoids this)" in said[0]
    assert "rows that were held out when the model was fitted" in said[2]
    assert "Method: sparse_kl." in said[3]
    assert "none of them is a row of the table" in said[3]
    assert {"flights.fewknots", "scored.parquet", "flights.html", "slim.onnx"} <= {
        path.name for path in folder.iterdir()
    }
    told = fewknots("inspect", "flights.fewknots", "--json").json
    assert set(told["contest"]["nlp"]) == {"local", "sparse_kl"}
    low, high = told["contest"]["gain"]["interval"]
    assert 0 < low < told["contest"]["gain"]["nlp"] < high
    assert told["stored_rows"] == told["rows"]
    assert "which won against sparse_kl" in fewknots("inspect", "flights.fewknots").out
    # who exports the local one is told the command that leads there: README's own
    refused = fewknots("export", "flights.fewknots")
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    command = shlex.split(refused.err.partition(": fewknots fit ")[2])
    assert command == [*shown[3][1:-1], "flights.fewknots"]
