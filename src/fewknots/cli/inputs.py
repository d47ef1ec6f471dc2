"""Checks that a command's input files exist, before anything else is done.

JAX, scikit-learn and pyarrow take seconds to import; a mistyped name should be reported at once.
"""

from collections.abc import Sequence
from pathlib import Path

from ..data.table_paths import STANDARD_INPUT, paths_of


def check_model(path: Path) -> None:
    """Raise FileNotFoundError if there is no such file."""
    path.stat()


def check_sources(sources: Sequence[str]) -> None:
    """Raise an error for a source that names no file; standard input is not checked."""
    named = [source for source in sources if source != STANDARD_INPUT]
    if named:
        paths_of(named)
