"""Links between pages lead to files, headings and pictures that exist: on a forge, in the site."""

import posixpath
import re
import sys
from pathlib import Path

import pytest

from .pages import PAGES, ROOT, name

sys.path.append(str(ROOT / "docs" / "_ext"))
sys.path.append(str(ROOT / "docs"))
from check_site import complaints
from forge_links import LINK, ROOT_PAGES, for_site

TARGET = re.compile(
    r"\]\(\s*([^()\s]+)(?:\s+\"[^\"]*\")?\)|<(?:img|source)[^>]*\ssrc(?:set)?=\"([^\"]+)\""
)


def without_code(text):
    """The same lines, with blocks and `code` blank."""
    text = re.sub(
        r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.S | re.M
    )
    return re.sub(r"`[^`\n]*`", "`code`", text)


def targets(page):
    text = without_code(page.read_text("utf-8"))
    found = (match[1] or match[2] for match in TARGET.finditer(text))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page):
    """Headings as forges and MyST write them in an address."""
    text = page.read_text("utf-8")
    blank = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    slugs: dict[str, int] = {}
    found = set(re.findall(r'<a id="([^"]+)"', blank))
    for heading in re.findall(r"^#+ (.+?)\s*$", blank, re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        again = slugs.get(slug, 0)
        slugs[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def wrong(page, root=ROOT):
    found = []
    for target in targets(page):
        path, _, anchor = target.partition("#")
        file = Path(posixpath.normpath(page.parent / path)) if path else page
        if not file.is_relative_to(root) or not file.exists():
            found.append(f"{target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            found.append(f"{target}: no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    assert wrong(page) == []


def test_a_broken_link_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One two, `three_4`\n[a](#one-two-three_4) [b](#one) ![c](no.png) [d](\npage.md#two)\n"
        '```\n[in code](nowhere.md)\n```\n<img src=\'x\'><img alt="e" src="gone.svg">\n'
    )
    assert wrong(page, tmp_path) == [
        "#one: no such heading",
        "no.png: no such file",
        "page.md#two: no such heading",
        "gone.svg: no such file",
    ]


def test_links_of_the_site():
    there = for_site(
        "[a](../SECURITY.md) [b `c`](local.md#d) [e](../tests/golden) ![f](x.png)", "docs"
    )
    assert there == "[a](/project/security.md) [b `c`](/local.md#d) `tests/golden` ![f](x.png)"
    assert for_site("[the rules](docs/local.md)", "") == "[the rules](/local.md)"
    assert for_site("[gallery](../examples)", "docs") == "[gallery](/auto_examples/index.rst)"
    assert (
        for_site("[a](https://example.org) [b](#c)", "docs") == "[a](https://example.org) [b](#c)"
    )
    assert LINK.search("[none](gone.md)")
    for page in ROOT_PAGES:
        assert (ROOT / page).is_file()


def test_a_site_is_checked(tmp_path):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="#top">a</a><a href="b.html#no">b</a><a href="c.html">c</a>'
        '<a href="https://example.org">d</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text("<p>" + "x" * 500_000)
    assert complaints(tmp_path) == [
        "b.html: 500003 bytes",
        "index.html: fetches https://example.org/x.js",
        "index.html: b.html#no leads nowhere",
        "index.html: c.html leads nowhere",
    ]
