"""The site is built without a warning, its programs not run; every link in it leads somewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT
from .test_links import complaints

pytest.importorskip("sphinx")
pytestmark = pytest.mark.slow


def test_the_site(tmp_path):
    for part in ("docs", "examples"):
        generated = shutil.ignore_patterns("auto_examples", "_build", "__pycache__")
        shutil.copytree(ROOT / part, tmp_path / part, ignore=generated)
    for name in ("benchmarks", "tests"):  # links to their files are seen to lead somewhere
        (tmp_path / name).symlink_to(ROOT / name)
    for page in [*ROOT.glob("*.md"), ROOT / "LICENSE", ROOT / "CITATION.cff"]:
        shutil.copy(page, tmp_path)
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q"]
    command += ["-D", "plot_gallery=0", str(tmp_path / "docs"), str(site)]
    sources = str(Path(ROOT, "src"))
    path = os.pathsep.join([sources, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert complaints(site) == []
    index = (site / "searchindex.js").read_text("utf-8")
    assert "natur" in index  # the word's stem: search knows the page about natural gradients
    assert "GPClassifier" in (site / "api" / "estimators.html").read_text("utf-8")
    commands = (site / "commands.html").read_text("utf-8")
    assert "--no-rows" in commands
    assert "–task" not in commands  # two hyphens of an option stay hyphens
