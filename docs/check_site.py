"""Looks at a built site: all links inside it lead somewhere, it fetches nothing, pages are small.

python docs/check_site.py build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 500_000  # bytes of a page
# What a browser fetches to show a page; <a> is a link that a reader may follow.
FETCHED = {"img": "src", "script": "src", "link": "href", "source": "srcset", "iframe": "src"}


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value for name, value in attrs if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in FETCHED and FETCHED[tag] in found and found.get("rel") != "canonical":
            self.fetched.append(found[FETCHED[tag]])


def complaints(folder: Path) -> list[str]:
    """One line for each thing that is wrong."""
    paths = sorted(folder.resolve().rglob("*.html"))
    pages = {path: Page(path.read_text("utf-8")) for path in paths}
    found = [] if pages else [f"{folder} holds no page"]
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        if path.stat().st_size > LARGEST:
            found.append(f"{name}: {path.stat().st_size} bytes")
        found += [f"{name}: fetches {url}" for url in page.fetched if is_elsewhere(url)]
        for url in page.links + page.fetched:
            if not is_elsewhere(url) and not leads_somewhere(url, path, pages):
                found.append(f"{name}: {url} leads nowhere")
    return found


def is_elsewhere(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def leads_somewhere(url: str, origin: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(url)
    if parts.scheme:  # data:, of a picture in the page
        return True
    target = (origin.parent / unquote(parts.path)).resolve() if parts.path else origin
    if target.is_dir():
        target /= "index.html"
    if target not in pages:
        return target.is_file() and not parts.fragment
    return not parts.fragment or unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]))
    print("\n".join(wrong) or "every link leads somewhere")
    sys.exit(bool(wrong))
