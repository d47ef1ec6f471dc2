"""How to install is said as it works: fewknots itself from a checkout, extras by name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fewknots
from fewknots import extras

ROOT = Path(__file__).parent.parent
# `pip install fewknots`, quoted or not, without extras: from an index, that is
PUBLISHED = re.compile(r"pip install\s+['\"]?fewknots(?!\[)")
SOURCES = Path(fewknots.__file__).parent


def texts():
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    return [*SOURCES.rglob("*.py"), *(path for path in documents if path.name != "CHANGELOG.md")]


@pytest.mark.parametrize("path", texts(), ids=lambda path: path.name)
def test_no_text_installs_from_an_index(path):
    assert not PUBLISHED.search(path.read_text(encoding="utf-8"))


def test_the_extras_that_are_named_exist():
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set()
    for path in texts():
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"pip install '(?:\.|fewknots)\[([a-z]+)\]'", text))
        named |= set(re.findall(r"\b(?:missing|how_to_install)\([^)]*['\"]([a-z]+)['\"]\)", text))
    assert {"cli", "stream", "dask", "onnx", "plots", "paper", "demo"} <= named
    assert named <= set(known)


def test_the_command_line_without_typer_says_it():
    script = "import sys; sys.modules['typer'] = None; from fewknots.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == extras.missing("The command line needs typer", "cli")
    assert "pip install 'fewknots[cli]'" in done.stderr
