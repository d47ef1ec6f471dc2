"""The files that a command is to read, looked for before anything else is done.

JAX, scikit-learn and pyarrow take seconds to load, and a mistyped name needs none of them.
"""

from collections.abc import Sequence
from pathlib import Path

from ..data.table_paths import STANDARD_INPUT, paths_of


def check_model(path: Path) -> None:
    """Raise the error that opening the file would raise, if there is no such file."""
    path.stat()


def check_sources(sources: Sequence[str]) -> None:
    """Raise what is wrong with a source that names no file; standard input is not looked at."""
    named = [source for source in sources if source != STANDARD_INPUT]
    if named:
        paths_of(named)
