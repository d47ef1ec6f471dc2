"""The real `--help` of every command: a flag takes no value, and does not look as if it did."""

import json
import os
import subprocess
import sys

import pytest

from .test_commands import COMMANDS

EXPERIMENTS = ("banana", "table1", "image", "banana-time", "mnist", "airline")
ALL = [
    (),
    *((name,) for name in COMMANDS),
    ("reproduce",),
    *(("reproduce", name) for name in EXPERIMENTS),
]
FLAGS = ("--help", "--json", "--debug", "--resume", "--version", "--quick", "--list")

# One process asks them all: loading what `reproduce` needs takes most of the time.
SCRIPT = """
import contextlib, io, json, sys
from fewknots.cli import main
answers = []
for command in json.loads(sys.argv[1]):
    sys.argv = ["fewknots", *command, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        try:
            main()
        except SystemExit as end:
            answers.append((end.code, shown.getvalue()))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(ALL)],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(ALL, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("command", ALL, ids=str)
def test_flags_have_no_type(command, answers):
    code, shown = answers[command]
    assert code == 0
    assert "bool" not in shown.lower()
    assert "--help" in shown
    for line in shown.splitlines():
        words = line.replace("│", " ").split()
        if words and words[0] in FLAGS and len(words) > 1:
            assert not words[1].startswith("<"), line
    if command == ("fit",):
        assert "--out" in shown
        assert "<path>" in shown.lower() or "PATH" in shown


def test_every_name_is_shown(answers):
    """A reader in a shell learns the possible values here."""
    from fewknots.fitting.settings import CLASSIFICATION, REGRESSION
    from fewknots.kernels import KERNELS

    _, shown = answers["fit",]
    words = set(shown.replace("│", " ").replace(",", " ").replace(".", " ").split())
    assert {*CLASSIFICATION, *REGRESSION} - words == set()
    assert {*KERNELS} - {"constant"} - words == set()
