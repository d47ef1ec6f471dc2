"""Links that work on a forge, where every file has a page, made to work in the site.

The site holds docs/ and a few files from above it (ROOT_PAGES). A link from docs/ up to one of them
becomes a link to its page, a link to a program of examples/ one to its page in the gallery, and a
link to another file of the repository (a benchmark, a test) the name of that file.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "project/contributing",
    "CHANGELOG.md": "project/changelog",
    "SECURITY.md": "project/security",
}
SHOWN_AS = {page: name for name, page in ROOT_PAGES.items() if page != "index"}
# [text](target), on one line or two; neither an image nor another site
LINK = re.compile(r"(?<!!)\[([^\][]*(?:\[[^\]]*\][^\][]*)*)\]\(\s*(?![a-z]+:|#)([^()\s]+)\)")


def for_site(text: str, folder: str) -> str:
    """The text of a page that lies in `folder` of the repository, with the site's links."""

    def replaced(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        name = posixpath.normpath(posixpath.join(folder, path))
        if not (ROOT / name).exists() and not name.startswith("docs/"):
            return match[0]  # Sphinx says that it leads nowhere
        if name in ROOT_PAGES:
            return f"[{words}](/{ROOT_PAGES[name]}.md{mark}{anchor})"
        if name.startswith("docs/"):
            return f"[{words}](/{name.removeprefix('docs/')}{mark}{anchor})"
        if name == "examples":
            return f"[{words}](/auto_examples/index.rst)"
        if name.startswith("examples/") and name.endswith(".py"):
            page = name.removeprefix("examples/").removesuffix(".py")
            return f"[{words}](/auto_examples/{page}.rst)"
        return words if "`" in words else f"`{name}`"

    return LINK.sub(replaced, text)


def _read(app, docname, source):
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    if docname in SHOWN_AS:
        source[0] = for_site((ROOT / SHOWN_AS[docname]).read_text("utf-8"), "")
        app.env.note_dependency(str(ROOT / SHOWN_AS[docname]))
    else:
        source[0] = for_site(source[0], path.parent.relative_to(ROOT).as_posix())


def setup(app):
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
