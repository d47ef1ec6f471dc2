"""docs/coming-from: every program of fewknots and scikit-learn runs and prints what the page says.

Peers that are not installed for the tests are left out; their figures were printed once, by the
versions that the pages name.
"""

import re
from pathlib import Path

import numpy as np
import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "coming-from").glob("*.md"))
PEERS = ("import gpflow", "import gpytorch", "from lightgbm")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_prints_what_it_says(page, capsys):
    names = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        if any(peer in block for peer in PEERS):
            compile(block, page.name, "exec")
            continue
        exec(compile(block, page.name, "exec"), names)
        lines = capsys.readouterr().out.splitlines()
        said = re.findall(r"# -> (.+)", block)
        assert len(lines) == len(said)
        for line, expected in zip(lines, said, strict=True):
            values = [float(value) for value in expected.split(", ")]
            np.testing.assert_allclose([float(v) for v in line.split()], values, atol=0.006, rtol=0)


def test_every_page_shows_both_sides_a_table_and_what_differs():
    assert {page.stem for page in PAGES} == {"scikit-learn", "gpflow", "gpytorch", "lightgbm"}
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("```python") >= 3
        assert "|---|---|" in text
        assert "## What is different on purpose" in text
