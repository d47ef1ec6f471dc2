"""Nothing points up: every import of the package against the layers in docs/architecture.md."""

import ast
import re
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

import fewknots

PACKAGE = Path(fewknots.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


class Import(NamedTuple):
    """One module named by an import, as a path below the package: "files/container"."""

    line: int
    target: str


def layers() -> list[list[str]]:
    """The rooms of every row of the page's table, from the bottom."""
    below = PAGE.read_text().split("\n## Layers\n")[1].split("|---|---|\n")[1]
    rows = takewhile(lambda line: line.startswith("|"), below.splitlines())
    return [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in rows][::-1]


def module_name(path: Path) -> str:
    """ "files/container" for a module, "files" for a package, "__init__" for the topmost one."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return name.removesuffix("/__init__")


def room_of(module: str, rooms: list[str]) -> str | None:
    """The most exact of the rooms that the module lies in."""
    holding = [room for room in rooms if f"{module}/".startswith(f"{room}/")]
    return max(holding, key=len, default=None)


def imports(source: str, path: Path, modules: set[str]) -> list[Import]:
    """What of the package a module's source imports, wherever in it the import stands."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = ["fewknots", *path.relative_to(PACKAGE).parent.parts]
            start = folder[: len(folder) + 1 - node.level] if node.level else []
            base = start + (node.module.split(".") if node.module else [])
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for top, *parts in names:
            if top == "fewknots":
                # The name imported is a module of its own, or something in the one before it.
                whole, before = "/".join(parts), "/".join(parts[:-1])
                target = whole if whole in modules else before
                found.append(Import(node.lineno, target or "__init__"))
    return found


PATHS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_module_has_a_room_and_every_room_a_module():
    rooms = [room for row in layers() for room in row]
    assert len(set(rooms)) == len(rooms)
    homes = {module: room_of(module, rooms) for module in PATHS}
    assert [module for module, room in homes.items() if room is None] == []
    assert set(rooms) - set(homes.values()) == set()


def test_nothing_points_up():
    height = {room: number for number, row in enumerate(layers()) for room in row}
    wrong = []
    for module, path in PATHS.items():
        room = room_of(module, list(height))
        for line, target in imports(path.read_text(), path, set(PATHS)):
            used = room_of(target, list(height))
            if used != room and height[used] >= height[room]:
                wrong.append(f"{module}.py:{line} imports {target}: {room} may not know {used}")
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("import fewknots", "__init__"),
        ("import fewknots.files.container", "files/container"),
        ("from fewknots import load", "__init__"),
        ("from .container import shown", "files/container"),
        ("from . import container", "files/container"),
        ("from .. import prediction", "prediction"),
        ("from .. import __version__", "__init__"),
        ("from ..kernels import RBF", "kernels"),
        ("def late():\n    from ..kernels.linear import Linear", "kernels/linear"),
        ("if TYPE_CHECKING:\n    from ..tables.model import TableModel", "tables/model"),
    ],
)
def test_imports_are_seen_wherever_they_stand(source, target):
    path = PACKAGE / "files" / "somewhere.py"
    assert [found.target for found in imports(source, path, set(PATHS))] == [target]


def test_other_packages_are_not_ours():
    path = PACKAGE / "distributed" / "somewhere.py"
    source = "import numpy.linalg\nfrom distributed import Client\nfrom dask import array"
    assert imports(source, path, set(PATHS)) == []
