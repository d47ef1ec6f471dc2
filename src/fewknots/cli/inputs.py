"""Inputs of commands: shared options, model files, tables, the files of a fit, the rows to score.

JAX, scikit-learn and pyarrow take seconds to import, and a mistyped name should be reported at
once: so `check_model` and `check_sources` come before anything else.

A model file stores the paths of the files that it was fitted to, relative to itself, so that a
folder that contains both can be moved. These files are read only when a command scores the rows
that the fit held out.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..data.table_paths import STANDARD_INPUT, paths_of

if TYPE_CHECKING:
    from ..data.csv_dialect import CsvOptions
    from ..tables.model import TableModel
    from ..tables.rows_to_score import RowsToScore

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model file that 'fewknots fit' wrote.", show_default=False
    ),
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="CSV, TSV, Parquet or Arrow files, a folder or a pattern of them, or - for standard "
        "input.",
        show_default=False,
    ),
]
SomeSources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]",
        help="Labelled rows: files, a folder or a pattern, or - for standard input. If none are "
        "given: the rows that were held out at the fit, read again from its files.",
        show_default=False,
    ),
]
AllRows = Annotated[
    bool, typer.Option("--all-rows", help="Score also the rows that the model learned from.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="The separator of the fields of a CSV: one character, or tab. By default detected.",
        show_default=False,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="The decimal mark: . or , (or the words point, comma). By default detected.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="The encoding of a CSV, such as utf-8, utf-16, latin-1. By default detected.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop with an error if a row cannot be scored."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, for other programs.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
# Arguments of `fit` that do not define the task: where to compute, method, output.
_NOT_TASK_OPTIONS = frozenset(
    ("sources", "target", "method", "no_rows", "out", "checkpoint", "resume", "as_json", "debug")
)


def check_model(path: Path) -> None:
    """Raise FileNotFoundError if there is no such file."""
    path.stat()


def check_sources(sources: Sequence[str]) -> None:
    """Raise an error for a source that names no file; standard input is not checked."""
    named = [source for source in sources if source != STANDARD_INPUT]
    if named:
        paths_of(named)


def load_table_model(path: Path) -> "TableModel":
    """Load a model that can read tables; any other model is an error."""
    from ..exceptions import ModelFileError
    from ..loading import load
    from ..tables.model import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path} was saved in Python and has no recipe for the columns of a table. Use it in "
            "Python with fewknots.load, or fit again with 'fewknots fit'."
        )
    return model


def relative_paths(sources: Sequence[str], model: Path) -> list[str] | None:
    """The sources relative to the model file; None for standard input, which cannot be reread."""
    if STANDARD_INPUT in sources:
        return None
    folder = model.parent.absolute()
    return [_relative_path(folder, source) for source in sources]


def training_files(model: "TableModel", path: Path) -> list[str]:
    """The files of the fit; an error if one of them no longer exists."""
    from ..exceptions import DataError

    places = _texts(model.about.get("source"))
    if places is None:
        raise DataError(
            f"{path} does not say which files it was fitted to, or it was fitted to standard "
            "input. Give a file of labelled rows."
        )
    files = _resolve(places, path)
    try:
        paths_of(files)
    except (DataError, OSError) as error:
        raise DataError(
            f"the files that {path} was fitted to cannot be found ({error}) Give a file of "
            "labelled rows."
        ) from error
    return files


def csv_options_of_fit(model: "TableModel") -> "CsvOptions":
    """The CSV options that the user gave at the fit, without those that were detected."""
    from ..data.csv_dialect import CsvOptions

    said = model.about.get("csv")
    named = said if isinstance(said, dict) else {}
    texts = (named.get(name) for name in CsvOptions._fields)
    return CsvOptions.checked(*(text if isinstance(text, str) else None for text in texts))


def task_options(command: Callable[..., None], given: Mapping[str, Any]) -> list[str]:
    """The options that define what to learn, in the form typed on a command line."""
    typed: list[str] = []
    for name, parameter in signature(command).parameters.items():
        value = given[name]
        if name in _NOT_TASK_OPTIONS or value == parameter.default or value == []:
            continue
        (option,) = parameter.annotation.__metadata__
        long = [word for word in option.param_decls or () if word.startswith("--")]
        typed_name = long[0] if long else f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            typed += [typed_name, *([] if one is True else [str(one)])]
    return typed


def command_without_rows(model: "TableModel", path: Path) -> str:
    """The command that fits this model again, with --no-rows."""
    places = _texts(model.about.get("source"))
    files = ["SOURCE"] if places is None else _resolve(places, path)
    options = _texts(model.about.get("options")) or []
    words = [*files, "--target", model.target, *options, "--no-rows", "--out", str(path)]
    return f"fewknots fit {shlex.join(words)}"


def _relative_path(folder: Path, source: str) -> str:
    try:
        return os.path.relpath(source, folder)
    except ValueError:  # on another drive (Windows)
        return os.path.abspath(source)


def _resolve(places: Sequence[str], model: Path) -> list[str]:
    return [os.path.normpath(model.parent / place) for place in places]


def _texts(value: Any) -> list[str] | None:
    """`value` if it is a non-empty list of strings, else None: model files are not trusted."""
    proper = isinstance(value, list) and value and all(isinstance(text, str) for text in value)
    return value if proper else None


class Reading(NamedTuple):
    """Arguments of a command that say which rows to score and how their files are written."""

    sources: Sequence[str] | None
    all_rows: bool
    strict: bool
    separator: str | None
    decimal: str | None
    encoding: str | None


@contextmanager
def rows_to_score(
    model: "TableModel", path: Path, asked: Reading, watch: Any
) -> "Iterator[RowsToScore]":
    """Rows of the sources that are new to the model; without sources, the fit's held-out rows."""
    from ..data.csv_dialect import CsvOptions
    from ..data.table_paths import as_files
    from ..tables.rows_to_score import held_out_rows, new_rows

    written = CsvOptions.checked(asked.separator, asked.decimal, asked.encoding)
    if not asked.sources:
        own = training_files(model, path)
        if not any(written):
            written = csv_options_of_fit(model)
        read = partial(model.rows, own, strict=True, csv=written)
        yield held_out_rows(model, read, ", ".join(own), watch)
        return
    with as_files(asked.sources) as files:
        read = partial(model.rows, files, strict=asked.strict, csv=written)
        yield new_rows(model, read, asked.all_rows, watch)


def facts(rows: "RowsToScore") -> dict[str, Any]:
    """Counts and origin of the scored rows, for --json."""
    return {
        "rows": rows.n_rows,
        "rows_given": rows.given + rows.left_out,
        "left_out": rows.left_out,
        "unseen_labels": dict(rows.unseen),
        "rows_learned_from": rows.learned_from,
        "checked_on": rows.checked_on,
    }
