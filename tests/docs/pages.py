"""The Markdown pages of the repository, and their Python blocks run one after the other.

What a reader need not see stands in comments that no page shows:

    <!-- first:                      <!-- not run: needs a cluster -->
    X, y = some_rows()               directly before a block: it is compiled, not run
    -->
    is run where it stands
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})
_PIECE = re.compile(
    r"^```python\n(?P<shown>.*?)^```$|^<!-- first:\n(?P<hidden>.*?)^-->$"
    r"|^<!-- not run: [^\n]+ -->\n+```python\n(?P<idle>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """Python of a page, without the fence."""

    line: int
    source: str
    runs: bool


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """All Python of the page, hidden or not, in order."""
    text = page.read_text("utf-8")
    found = []
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup or ""
        line = text.count("\n", 0, piece.start(kind))
        found.append(Block(line, piece[kind], kind != "idle"))
    return found


def run(page: Path, folder: Path) -> dict[str, Any]:
    """Run the page in `folder`; the names that it defines. A traceback has the page's lines."""
    names: dict[str, Any] = {"__name__": page.stem}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks(page):
            code = compile("\n" * block.line + block.source, str(page), "exec")
            if block.runs:
                exec(code, names)
    return names
