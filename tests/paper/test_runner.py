"""Cells are run once, kept, and told apart from cells of other settings, data and versions."""

import json
import signal

import pytest

from fewknots.paper import experiment
from fewknots.paper.experiment import Options, gather, run_cells

from ..ida import write_ida_file
from .toy import Squares

OPTIONS = Options(extras={"colour": "red"})


def run(experiment, small_data, folder, watch=lambda moment: None):
    return run_cells(experiment, OPTIONS, gather(("banana",), small_data), folder, watch)


def squares(results):
    return {key: result.values.get("square") for key, result in results.items()}


def test_a_second_run_takes_every_cell_from_its_file(small_data, tmp_path):
    first, second = Squares(), Squares()
    before = run(first, small_data, tmp_path)
    after = run(second, small_data, tmp_path)
    assert first.ran == [1, 2, 3]
    assert second.ran == []
    assert before == after  # also in types: NumPy's are JSON's in both
    assert before["square-2"].values == {"square": 4.0, "both": [2.0, 4.0], "huge": float("inf")}
    assert before["square-3"].warnings == ("UserWarning: three is odd",)


def test_other_settings_run_again(small_data, tmp_path):
    run(Squares(), small_data, tmp_path)
    changed = Squares(scale=2.0)
    assert squares(run(changed, small_data, tmp_path))["square-2"] == 8.0
    assert changed.ran == [1, 2, 3]


def test_more_cells_run_only_what_is_new(small_data, tmp_path):
    run(Squares(), small_data, tmp_path)
    more = Squares(numbers=(1, 2, 3, 4))
    run(more, small_data, tmp_path)
    assert more.ran == [4]


def test_another_version_runs_again(small_data, tmp_path, monkeypatch):
    run(Squares(), small_data, tmp_path)
    monkeypatch.setattr(experiment, "__version__", "0.0.0")
    again = Squares()
    run(again, small_data, tmp_path)
    assert again.ran == [1, 2, 3]


def test_other_data_run_again(small_data, tmp_path):
    run(Squares(), small_data, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    write_ida_file(other, "banana", seed=5)
    again = Squares()
    run(again, other, tmp_path)
    assert again.ran == [1, 2, 3]


def test_a_failure_is_recorded_and_tried_again(small_data, tmp_path):
    results = run(Squares(fails=(2,)), small_data, tmp_path)
    assert results["square-2"].failed == "ValueError: no square of 2\nis to be had"
    assert squares(results) == {"square-1": 1.0, "square-2": None, "square-3": 9.0}
    record = json.loads((tmp_path / "cells" / "square-2.json").read_text())
    assert record["failed"].startswith("ValueError")
    assert "values" not in record
    mended = Squares()
    assert squares(run(mended, small_data, tmp_path))["square-2"] == 4.0
    assert mended.ran == [2]


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"key": 1}'])
def test_a_damaged_file_is_run_again(small_data, tmp_path, damage):
    run(Squares(), small_data, tmp_path)
    (tmp_path / "cells" / "square-2.json").write_text(damage)
    again = Squares()
    assert squares(run(again, small_data, tmp_path))["square-2"] == 4.0
    assert again.ran == [2]


def test_an_interrupted_run_keeps_what_is_done(small_data, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Squares(interrupted_at=2), small_data, tmp_path)
    assert [path.name for path in (tmp_path / "cells").iterdir()] == ["square-1.json"]
    again = Squares()
    run(again, small_data, tmp_path)
    assert again.ran == [2, 3]


def test_ctrl_c_raises_inside_a_cell_and_is_given_back_after(small_data, tmp_path):
    class Pressed(Squares):
        def run(self, cell, options):
            signal.raise_signal(signal.SIGINT)
            return super().run(cell, options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has none
    try:
        with pytest.raises(KeyboardInterrupt):
            run(Pressed(), small_data, tmp_path)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_watcher_sees_each_cell_begin_and_end(small_data, tmp_path):
    run(Squares(numbers=(1,)), small_data, tmp_path)
    seen = []
    run(Squares(numbers=(1, 2)), small_data, tmp_path, seen.append)
    told = [(m.done, m.total, m.cell.key, m.result is not None, m.kept) for m in seen]
    assert told == [
        (1, 2, "square-1", True, True),
        (1, 2, "square-2", False, False),
        (2, 2, "square-2", True, False),
    ]


def test_cells_whose_data_cannot_be_had_say_so_and_the_others_are_run(small_data, tmp_path):
    class OfTwo(Squares):
        def cells(self, options):
            cells = super().cells(options)
            return [cells[0], cells[1]._replace(settings=cells[1].settings | {"data": "thyroid"})]

    data = gather(("banana",), small_data)._replace(missing={"thyroid": "put it there"})
    experiment = OfTwo()
    results = run_cells(experiment, OPTIONS, data, tmp_path, lambda moment: None)
    assert experiment.ran == [1]
    assert results["square-2"].failed == "DatasetError: put it there"
