"""What a release says of itself is true: versions, stable names, dependencies' licences."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from release import licences

import fewknots

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STABLE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
STABLE_MODULES = sorted(
    name
    for row in STABLE.split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    for name in re.findall(r"`(fewknots(?:\.\w+)*)`", row.split("|")[1])
)


def test_one_version_everywhere():
    version = Version(fewknots.__version__)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == str(version)
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[:2] == ["Unreleased", str(version)]
    stable = any("Production/Stable" in text for text in PROJECT["classifiers"])
    assert stable == (version.major > 0 and not version.is_prerelease)


def test_the_page_names_the_stable_modules():
    assert {"fewknots", "fewknots.kernels", "fewknots.acquire"} <= set(STABLE_MODULES)


@pytest.mark.parametrize("name", STABLE_MODULES)
def test_stable_names_are_there_and_documented(name):
    module = importlib.import_module(name)
    functions = [n for n, _ in inspect.getmembers(module, inspect.isfunction) if n[0] != "_"]
    promised = getattr(module, "__all__", functions)
    assert promised
    assert [n for n in promised if not getattr(module, n).__doc__] == []


def listed(title):
    """The packages in one table of docs/licences.md, and their licences."""
    table = licences.PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| ([a-z0-9-]+) \| (.+) \|$", table, re.M))


def test_the_licences_of_all_that_is_installed_are_listed():
    always = listed("Every installation")
    assert licences.needed(PROJECT["dependencies"]) <= set(always)
    for extra in licences.FOR_USERS:
        known = always | listed(f"Added by `fewknots[{extra}]`")
        for text in PROJECT["optional-dependencies"][extra]:
            name = canonicalize_name(Requirement(text).name)
            assert name in {"fewknots", *known}, f"run release/licences.py: {name} is new"


def test_what_needs_what_is_followed_to_the_end():
    assert {"optax", "absl-py", "jaxlib"} <= licences.needed(["optax"])
    assert "pygments" in licences.needed(["rich"])  # needed by what it needs
    assert "ipywidgets" not in licences.needed(["rich"])  # an extra that nobody asked for
    assert licences.licence("numpy").startswith("BSD-3-Clause")
