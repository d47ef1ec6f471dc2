"""`-`, standard input, as a file.

A fit reads its rows several times, and Parquet is read from its end, but standard input can be read
only once, from its beginning. So it is copied to a scratch file. Its format is recognised from its
first bytes, as there is no file name.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..exceptions import DataError
from ..stopping import scratch_folder
from .table_paths import STANDARD_INPUT

_NAME = "standard input"
_HEAD_BYTES = 2**16
_ENDINGS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\xff\xff\xff\xff", ".arrow"),  # an Arrow stream
    (b"\x1f\x8b", ".csv.gz"),
    (b"BZh", ".csv.bz2"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
)


@contextmanager
def as_files(sources: Sequence[str]) -> Iterator[list[str]]:
    """The same sources, with `-` replaced by a file that exists until the end of the block."""
    if STANDARD_INPUT not in sources:
        yield list(sources)
        return
    if len(sources) > 1:
        raise DataError("standard input (-) cannot be read together with files.")
    with scratch_folder() as folder:
        yield [str(_copied(sys.stdin.buffer, folder))]


def _copied(stream: Any, folder: Path) -> Path:
    head = stream.read(_HEAD_BYTES)
    if not head:
        raise DataError("standard input is empty: there are no rows to read.")
    path = folder / f"{_NAME}{_ending(head)}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file)
    return path


def _ending(head: bytes) -> str:
    for magic, ending in _ENDINGS:
        if head.startswith(magic):
            return ending
    return ".csv"  # also for .tsv: the separator is recognised
