"""The programs of the gallery: they run without a warning, draw, and say what to remember.

Only the quicker ones run here; the site's build runs all.
"""

import ast
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("plot_*.py"))
QUICK = ("active_learning", "counts", "doubt", "evidence", "functions", "robust", "tables")
pytestmark = pytest.mark.slow


SHORTER = {"active_learning": ["--repeats", "1", "--rounds", "5"]}


def of_name(path):
    return path.stem.removeprefix("plot_")


def chosen_labels_are_better(printed):
    table = [line.split() for line in printed.splitlines()[1:7]]
    assert [int(line[0]) for line in table] == [10, 20, 30, 40, 50, 60]
    asked, random = (np.array([float(line[k]) for line in table]) for k in (1, 5))
    assert asked[0] == random[0]
    assert asked[-1] < random[-1] - 2.0


def the_right_structure_has_the_highest_evidence(printed):
    found = re.findall(r"^(.+?) +log evidence +(\S+), later error (\S+)$", printed, re.MULTILINE)
    evidence = {name: float(number) for name, number, _ in found}
    error = {name: float(number) for name, _, number in found}
    assert max(evidence, key=evidence.get) == "Periodic + Linear"
    assert min(error, key=error.get) == "Periodic + Linear"


PROMISES = {
    "active_learning": chosen_labels_are_better,
    "evidence": the_right_structure_has_the_highest_evidence,
}


@pytest.fixture
def _drawing_into_memory(monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda: None)
    before = pyplot.get_backend()
    pyplot.switch_backend("Agg")
    with pyplot.rc_context():
        yield
        pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.usefixtures("_drawing_into_memory")
def test_the_program_draws_a_picture(name, monkeypatch, capsys):
    program = EXAMPLES / f"plot_{name}.py"
    monkeypatch.setattr("sys.argv", [str(program), *SHORTER.get(name, [])])
    runpy.run_path(str(program), run_name="__main__")
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        figure.canvas.draw()
        picture = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255.0
        assert picture.std() > 0.08  # not a blank sheet
        np.testing.assert_array_equal(picture[0, 0], 1.0)  # white, on a dark page too
    if name in PROMISES:
        PROMISES[name](capsys.readouterr().out)


@pytest.mark.parametrize("program", PROGRAMS, ids=of_name)
def test_the_program_is_a_page(program):
    source = program.read_text("utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert len(underline) >= len(title)
    assert set(underline) == {"="}
    assert source.count("\n# %%\n") >= 3
    assert "What to remember" in source.split("\n# %%\n")[-1]
    assert 'style.use("fewknots.plots.style")' in source


def test_the_gallery_has_a_place_and_a_panel_for_every_program(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    import gallery
    from PIL import Image

    assert sorted(gallery.PANELS) == sorted(map(of_name, PROGRAMS))
    order = gallery.ReadingOrder("examples")
    assert min((path.name for path in PROGRAMS), key=order) == "plot_banana.py"
    halves = Image.new("RGB", (600, 200), "white")
    halves.paste("black", (300, 0, 600, 200))
    shown = gallery.cropped(halves, gallery.Panel(0.5, 1.0, 0.0))
    assert shown.size == gallery.SIZE
    assert np.asarray(shown)[:, 5:].max() == 0  # the black half alone
    with pytest.raises(ValueError, match="ends below its picture"):
        gallery.cropped(halves, gallery.Panel(0.5, 1.0, 0.5))


def test_the_style_has_the_colours_of_the_classes():
    from fewknots.explain.colours import CLASS_COLOURS

    with pyplot.style.context("fewknots.plots.style"):
        cycle = pyplot.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(f"#{colour.removeprefix('#')}" for colour in cycle) == CLASS_COLOURS
