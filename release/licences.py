"""The licences of all that fewknots installs, as their packages state them: docs/licences.md.

    python release/licences.py            # writes the page
    python release/licences.py --check    # fails if the page is not what would be written

Run where fewknots and all its extras for users are installed. Read are the dependencies in
pyproject.toml, and of the installed packages their metadata: what they need, and their licence.
"""

import argparse
import importlib.metadata
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
FOR_USERS = ("plots", "stream", "cli", "dask", "onnx", "demo", "paper")
_UNKNOWN = "not stated in its metadata"
_START = """# Licences of what fewknots installs

fewknots itself is licensed under [Apache-2.0](../LICENSE). It contains none of the packages below:
pip installs them beside it. The licences are as each package states them in its metadata, on Linux
(`python release/licences.py` writes this page). A package may hold parts under further licences;
its own licence files say so.
"""


def needed(requirements: Iterable[str], extras: Iterable[str] = ()) -> set[str]:
    """The names of the installed packages that these requirements lead to, directly or not."""
    names: set[str] = set()
    to_do = [(text, tuple(extras)) for text in requirements]
    seen = set()
    while to_do:
        text, extras = to_do.pop()
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        key = name, frozenset(requirement.extras)
        if name == "fewknots" or not applies or key in seen:
            continue
        seen.add(key)
        names.add(name)
        further = importlib.metadata.requires(name) or ()
        to_do += [(text, tuple(requirement.extras)) for text in further]
    return names


def licence(name: str) -> str:
    """An installed package's licence: as an expression, a classifier, or a short text."""
    metadata = importlib.metadata.metadata(name)
    classifiers = metadata.get_all("Classifier", [])
    named = [text.split(" :: ")[-1] for text in classifiers if text.startswith("License ::")]
    text = metadata.get("License", "").strip()
    short = text if "\n" not in text and len(text) < 40 else ""
    return metadata.get("License-Expression") or ", ".join(named) or short or _UNKNOWN


def page() -> str:
    """The page: what every installation has, then what each extra adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    always = needed(project["dependencies"])
    parts = [_START, _table("Every installation", always)]
    for extra in FOR_USERS:
        added = needed(_of_extra(extra, project["optional-dependencies"])) - always
        parts.append(_table(f"Added by `fewknots[{extra}]`", added))
    return "\n".join(parts)


def _of_extra(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """An extra's requirements, those of the extras that it names among them."""
    found = []
    for text in extras[extra]:
        requirement = Requirement(text)
        if requirement.name == "fewknots":
            for name in sorted(requirement.extras):
                found += _of_extra(name, extras)
        else:
            found.append(text)
    return found


def _table(title: str, names: set[str]) -> str:
    rows = [f"| {name} | {licence(name)} |" for name in sorted(names)]
    return "\n".join([f"## {title}\n", "| package | licence |", "|---|---|", *rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        raise SystemExit(f"{PAGE.name} is out of date: run python release/licences.py.")


if __name__ == "__main__":
    main()
