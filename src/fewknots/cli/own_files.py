"""The files that a model was fitted to: where they are, seen from the model file.

Their places are kept relative to the model file, so that a folder with both can be moved. Nothing
is read from them unless a command is asked to score the rows held out at the fit.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data.csv_dialect import CsvOptions
    from ..tables.model import TableModel

# Where a fit was done and kept, and by which method, is no part of what was to be learned.
_NOT_OF_THE_TASK = frozenset(
    ("sources", "target", "method", "no_rows", "out", "checkpoint", "resume", "as_json", "debug")
)


def places_of(sources: Sequence[str], model: Path) -> list[str] | None:
    """The sources as a model file names them; None for standard input, which nobody has again."""
    from ..data.table_paths import STANDARD_INPUT

    if STANDARD_INPUT in sources:
        return None
    folder = model.parent.absolute()
    return [_seen_from(folder, source) for source in sources]


def own_files(model: "TableModel", path: Path) -> list[str]:
    """The files of the fit, which must still be there."""
    from ..data.table_paths import paths_of
    from ..exceptions import DataError

    places = _texts(model.about.get("source"))
    if places is None:
        raise DataError(
            f"{path} does not say which files it was fitted to, or it was fitted to standard "
            "input. Give a file of labelled rows."
        )
    files = _from_here(places, path)
    try:
        paths_of(files)
    except (DataError, OSError) as error:
        raise DataError(
            f"the rows that {path} was fitted to are not where they were ({error}) Give a file of "
            "labelled rows."
        ) from error
    return files


def options_of_the_fit(model: "TableModel") -> "CsvOptions":
    """How the files of the fit are written, as far as that was said and not recognised."""
    from ..data.csv_dialect import CsvOptions

    said = model.about.get("csv")
    named = said if isinstance(said, dict) else {}
    texts = (named.get(name) for name in CsvOptions._fields)
    return CsvOptions.checked(*(text if isinstance(text, str) else None for text in texts))


def task_options(command: Callable[..., None], given: Mapping[str, Any]) -> list[str]:
    """The options among a command's arguments that say what to learn, as one would type them."""
    typed: list[str] = []
    for name, parameter in signature(command).parameters.items():
        value = given[name]
        if name in _NOT_OF_THE_TASK or value == parameter.default or value == []:
            continue
        (option,) = parameter.annotation.__metadata__
        long = [word for word in option.param_decls or () if word.startswith("--")]
        typed_name = long[0] if long else f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            typed += [typed_name, *([] if one is True else [str(one)])]
    return typed


def command_without_rows(model: "TableModel", path: Path) -> str:
    """The command that fits such a model again, without rows in it."""
    places = _texts(model.about.get("source"))
    files = ["SOURCE"] if places is None else _from_here(places, path)
    options = _texts(model.about.get("options")) or []
    words = [*files, "--target", model.target, *options, "--no-rows", "--out", str(path)]
    return f"fewknots fit {shlex.join(words)}"


def _seen_from(folder: Path, source: str) -> str:
    try:
        return os.path.relpath(source, folder)
    except ValueError:  # on another drive
        return os.path.abspath(source)


def _from_here(places: Sequence[str], model: Path) -> list[str]:
    return [os.path.normpath(model.parent / place) for place in places]


def _texts(value: Any) -> list[str] | None:
    """What a model file says, if it is a list of texts."""
    proper = isinstance(value, list) and value and all(isinstance(text, str) for text in value)
    return value if proper else None
