"""No word of the pages, the docstrings and the messages is on codespell's list of misspellings."""

import subprocess
import sys

from .pages import ROOT

# Parts of words in patterns, words of other languages in examples, a name.
KNOWN = "bui,caf,categor,fot,konstant,nam,nd"
TEXTS = ("src", "docs", "examples", "benchmarks", "tests")


def misspelt(*paths):
    pages = [str(path) for path in paths]
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words-list", KNOWN]
    command += ["--builtin", "clear,rare", "--skip", "*.png,*.json,*.npz,auto_examples", *pages]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 64, 65), done.stderr
    return done.stdout.splitlines()


def test_no_word_is_misspelt():
    assert misspelt(*ROOT.glob("*.md"), *TEXTS) == []


def test_a_misspelt_word_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("We " + "rec" + "ieve\n")
    assert len(misspelt(page)) == 1
