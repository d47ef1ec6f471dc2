"""The Python of every page runs as it stands there."""

import re

import pytest

from .pages import PAGES, ROOT, blocks, name, run

# These have tests of their own, which say more about what the page computes.
ELSEWHERE = {"docs/extending.md", "docs/functions.md"}
COMING_FROM = "docs/coming-from/"  # half of their blocks are other libraries'
WITH_CODE = [page for page in PAGES if any(block.runs for block in blocks(page))]


def has_its_own_test(page):
    return name(page) in ELSEWHERE or name(page).startswith(COMING_FROM)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in WITH_CODE if not has_its_own_test(page)], ids=name
)
def test_it_runs(page, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    try:
        run(page, tmp_path)
    finally:
        from matplotlib import pyplot

        pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_seen(page):
    """No block escapes by an indent, another word for Python, or a comment that is misspelt."""
    text = page.read_text("utf-8")
    fences = re.findall(
        r"^[ >]*`{3,} *\{?(?:code-block\} *)?(?:python|py|python3|pycon)\b", text, re.M
    )
    comments = re.findall(r"<!--\s*(?:first|not run)", text)
    found = blocks(page)
    hidden = len(re.findall(r"^<!-- first:$", text, re.M))
    assert len(found) == len(fences) + hidden
    idle = sum(not block.runs for block in found)
    assert len(comments) == hidden + idle


def test_a_page_that_fails_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- first:\nx = 1\n-->\n\n```python\nx += 1\n```\n\n```python\nassert x == 3\n```\n"
    )
    with pytest.raises(AssertionError) as caught:
        run(page, tmp_path)
    assert caught.traceback[-1].lineno == 9  # from 0: the page's own line
    page.write_text(
        "```python\nx = 1\n```\n<!-- not run: an example -->\n```python\nx = 1 / 0\n```\n"
    )
    assert run(page, tmp_path)["x"] == 1


def test_the_pages_that_matter_have_code():
    assert {"README.md", "docs/tutorial.md", *ELSEWHERE} <= {name(page) for page in WITH_CODE}
    (shown,) = blocks(ROOT / "docs" / "index.md")
    assert shown.source == blocks(ROOT / "README.md")[0].source
