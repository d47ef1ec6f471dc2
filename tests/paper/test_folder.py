"""What a run leaves for its reader."""

import csv
import json
from pathlib import Path

import pytest

from fewknots import __version__
from fewknots.paper.experiment import Options
from fewknots.paper.folder import command, default_folder, reproduce

from .toy import Squares


@pytest.fixture
def options(small_data):
    return Options(quick=False, data=small_data, extras={"colour": "red"})


def test_the_folder_has_all_that_is_promised(options, tmp_path):
    folder = tmp_path / "deep" / "squares"
    reproduce(Squares(), options, folder, lambda moment: None)
    told = json.loads((folder / "run.json").read_text())
    assert told["versions"]["fewknots"] == __version__
    assert set(told["versions"]) >= {"python", "jax", "numpy"}
    assert set(told["machine"]) == {"cpu", "cores", "load_average", "platform", "device"}
    assert told["machine"]["cores"] >= 1
    assert told["seeds"] == [0]
    assert told["options"] == {"quick": False, "colour": "red"}
    assert len(told["data"]["banana"]["sha256"]) == 64
    assert told["cells"]["square-2"]["settings"]["n"] == 2
    assert told["cells"]["square-2"]["seconds"] >= 0
    with (folder / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["square"] for row in rows] == ["1.0", "4.0", "9.0"]
    text = (folder / "README.md").read_text()
    for part in (
        "# Squares\n",
        "What the paper shows: that squares grow.",
        "| square-2 | 4.0    |",
        "`fewknots reproduce squares`",
        "three is odd (`square-3`)",
        "ida_banana.npz",
    ):
        assert part in text
    assert "Failed" not in text
    assert "reduced" not in text


def test_a_failed_cell_says_so_and_why(options, tmp_path):
    reproduce(Squares(fails=(2,)), options, tmp_path, lambda moment: None)
    text = (tmp_path / "README.md").read_text()
    assert "| square-2 | failed: ValueError: no square of 2 |" in text
    assert "1 of 3 cells failed" in text
    told = json.loads((tmp_path / "run.json").read_text())
    assert "no square of 2" in told["cells"]["square-2"]["failed"]


def test_running_again_with_nothing_changed_changes_nothing(options, tmp_path):
    reproduce(Squares(), options, tmp_path, lambda moment: None)
    before = {name: (tmp_path / name).read_bytes() for name in ("README.md", "results.csv")}
    reproduce(Squares(), options, tmp_path, lambda moment: None)
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content


def test_the_command_names_what_is_not_the_default(options):
    assert command(Squares(), options) == "fewknots reproduce squares"
    other = options._replace(quick=True, extras={"colour": "blue"})
    assert command(Squares(), other) == "fewknots reproduce squares --colour blue --quick"


def test_runs_with_other_options_go_to_other_folders(options):
    assert default_folder(Squares(), options) == Path("reproduced/squares")
    other = options._replace(quick=True, extras={"colour": "blue"})
    assert default_folder(Squares(), other) == Path("reproduced/squares-blue-quick")


def test_a_reduced_run_says_so(options, tmp_path):
    reproduce(Squares(), options._replace(quick=True), tmp_path, lambda moment: None)
    assert "reduced run" in (tmp_path / "README.md").read_text()
