"""Files that the workers read themselves, and `fewknots fit --workers`."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np

import fewknots
from fewknots.data.row_draw import HashSplit
from fewknots.data.table_files import RawFiles
from fewknots.tables.dask_arrays import as_arrays, row_ranges
from fewknots.tables.reading import NoProgress, TableReader, Task, survey
from fewknots.tables.rows_to_score import held_out_rows

from ..flights_table import flights
from ..waiting import HANGS


def test_stretches_cover_every_row_once():
    found = row_ranges([2500, 10, 0, 4000], wanted=5)
    assert all(part.stop - part.start <= 1302 for part in found)
    covered = [part.first + row for part in found for row in range(part.start, part.stop)]
    assert covered == list(range(6510))
    assert len(row_ranges([300], wanted=8)) == 1  # too few to be worth cutting


def test_workers_read_what_a_stream_would(tmp_path):
    table = flights(3000)
    table.iloc[:1800].to_csv(tmp_path / "a.csv", index=False)
    table.iloc[1800:].to_csv(tmp_path / "b.csv", index=False)
    task, lot = Task("late", drop=["id"]), HashSplit(0.1, 0)
    files = RawFiles(str(tmp_path / "*.csv"))
    recipe, labels, rows_of_files, _ = survey(files, task, NoProgress())
    assert rows_of_files == (1800, 1200)
    reader = TableReader(files, task, recipe, labels, NoProgress())
    far = [
        column.compute(scheduler="synchronous")
        for column in as_arrays(reader, (1800, 1200), lot, 3)
    ]
    near = [np.concatenate(column) for column in zip(*reader.outside(lot), strict=True)]
    for there, here in zip(far, near, strict=True):
        np.testing.assert_array_equal(there, here)


def test_fit_on_workers_of_this_machine(tmp_path, compiled):
    flights(1500).to_parquet(tmp_path / "flights.parquet")
    command = [sys.executable, "-m", "fewknots", "fit", "flights.parquet", "--target", "late"]
    command += ["--inducing", "8", "--workers", "1", "--max-time", "5", "--json"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | compiled,
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    model = fewknots.load(tmp_path / "flights.fewknots")
    assert model.classifier.method_ == "sparse_kl"
    held_out = model.about["hold_out"]
    assert model.n_rows + held_out["rows"] == 1500
    assert 0 < held_out["scores"]["Gaussian process"]["nlp"] < 0.69
    assert told["model"].endswith("flights.fewknots")
    assert not (tmp_path / "flights.fewknots.checkpoint").exists()
    assert model.learned.counts.sum() == model.n_rows
    files = [str(tmp_path / "flights.parquet")]
    found = held_out_rows(model, partial(model.rows, files), "", lambda *_: None)
    assert found.n_rows == held_out["rows"]


def test_cluster_and_workers_exclude_each_other(tmp_path):
    flights(50).to_parquet(tmp_path / "flights.parquet")
    command = [sys.executable, "-m", "fewknots", "fit", "flights.parquet", "--target", "late"]
    command += ["--cluster", "tcp://127.0.0.1:8786", "--workers", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 2
    assert "not both" in done.stderr
