"""The real `--help` of every command: a flag takes no value, and does not look as if it did."""

import os
import subprocess
import sys

import pytest

from .test_commands import COMMANDS

EXPERIMENTS = ("banana", "table1", "image", "banana-time", "mnist", "airline")
ALL = [(), *((name,) for name in COMMANDS), ("reproduce",)]
FLAGS = ("--help", "--json", "--debug", "--resume", "--version", "--quick", "--list")


@pytest.mark.parametrize("command", [*ALL, *(("reproduce", name) for name in EXPERIMENTS)], ids=str)
def test_flags_have_no_type(command):
    done = subprocess.run(
        [sys.executable, "-m", "fewknots", *command, "--help"],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "bool" not in done.stdout.lower()
    assert "--help" in done.stdout
    for line in done.stdout.splitlines():
        words = line.replace("│", " ").split()
        if words and words[0] in FLAGS and len(words) > 1:
            assert not words[1].startswith("<"), line
    if command == ("fit",):
        assert "--out" in done.stdout
        assert "<path>" in done.stdout.lower() or "PATH" in done.stdout
