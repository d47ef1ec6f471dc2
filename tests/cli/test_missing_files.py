"""A file that is not there is told before anything heavy is loaded, by every command."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from fewknots.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
heavy = {"jax", "sklearn", "scipy", "numpy", "pyarrow", "rich.table"} & set(sys.modules)
print(code, *sorted(heavy))
"""

COMMANDS = {
    "fit": ["fit", "nosuch.csv", "-t", "y"],
    "fit, pattern": ["fit", "nosuch-*.csv", "-t", "y"],
    "fit, folder": ["fit", "empty", "-t", "y"],
    "fit, the second of two": ["fit", "there.csv", "nosuch.csv", "-t", "y"],
    "predict": ["predict", "there.fewknots", "nosuch.csv"],
    "predict, model": ["predict", "nosuch.fewknots", "there.csv"],
    "evaluate": ["evaluate", "there.fewknots", "nosuch.csv"],
    "evaluate, model": ["evaluate", "nosuch.fewknots", "there.csv"],
    "report": ["report", "there.fewknots", "nosuch.csv"],
    "report, model": ["report", "nosuch.fewknots", "there.csv"],
    "inspect": ["inspect", "nosuch.fewknots"],
    "export": ["export", "nosuch.fewknots"],
    "fit, output": ["fit", "there.csv", "-t", "y", "--out", "nosuch/m.fewknots"],
    "predict, output": ["predict", "there.fewknots", "there.csv", "--out", "nosuch/p.csv"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_nothing_heavy_is_loaded_to_tell_of_a_missing_file(arguments, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("there.csv", "there.fewknots"):
        (tmp_path / name).write_text("a,y\n1,0\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "1\n", done.stdout + done.stderr  # the exit code, and no module
    assert done.stderr.count("\n") == 1
    assert "nosuch" in done.stderr or "empty" in done.stderr
