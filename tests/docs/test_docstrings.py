"""Every public class and function is on a page of docs/api, with an example that runs."""

import doctest
import importlib
import inspect
import re

import pytest

from .pages import ROOT

DIRECTIVE = re.compile(r"^\.\. (?:currentmodule:: (\S+)|auto(class|function):: (\S+))$", re.M)
# Neither classes nor functions.
TABLES = {"KERNELS", "LIKELIHOODS", "LINKS", "NAMES", "__version__"}
SHARED = {"positive", "setting"}  # of kernels and likelihoods, described once
MODULES = (
    "",
    ".kernels",
    ".likelihoods",
    ".plots",
    ".explain",
    ".datasets",
    ".images",
    ".report",
)


def documented():
    """(module, name) of each class and function that a page describes."""
    found = []
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module = ""
        for entry in DIRECTIVE.finditer(page.read_text("utf-8")):
            module = entry[1] or module
            if entry[3]:
                found.append((module, entry[3]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({module for module, _ in documented()}))
def test_the_examples_run(module, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    for home, name in documented():
        if home != module:
            continue
        thing = getattr(importlib.import_module(module), name)
        (test,) = finder.find(thing, name, module=False, globs={})
        assert test.examples, f"{module}.{name} has no example"
        runner.run(test, out=said.append)
    pyplot.close("all")
    assert not runner.summarize(verbose=False).failed, "".join(said)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_page(module):
    package = importlib.import_module(f"fewknots{module}")
    here = {name for home, name in documented() if home == f"fewknots{module}"}
    things = {name: getattr(package, name) for name in package.__all__}
    errors = {
        name
        for name, thing in things.items()
        if inspect.isclass(thing) and issubclass(thing, Exception)
    }
    assert set(things) - here - errors - TABLES - SHARED == set()
    page = (ROOT / "docs" / "api" / "exceptions.rst").read_text("utf-8")
    assert {name for name in errors if f"autoexception:: {name}" not in page} == set()
