"""The undamaged part of a compressed file, for a reader that reads ahead.

pyarrow decompresses a CSV in a thread of its own, ahead of its parser. If decompression fails, all
data that were read ahead are lost, so the row in the error message would depend on the timing of
threads. Here the file seems to end with the last line before the damage; after reading it, the
caller raises the error, if there was damage.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

_COMPRESSED = (".gz", ".bz2", ".zst")
_CHUNK = 2**18  # bytes


@contextmanager
def intact_part(path: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """The stream for pyarrow, and a function to call after reading: it raises the error, if any.

    A file that is not compressed is read directly.
    """
    if path.suffix.lower() not in _COMPRESSED:
        yield path, lambda: None
        return
    part = _IntactPart(path)
    with io.BufferedReader(part, _CHUNK) as file:
        yield file, part.raise_damage


class _IntactPart(io.RawIOBase):
    """The decompressed bytes of a file, up to the last line before any damage."""

    def __init__(self, path: Path) -> None:
        self._stream = pa.input_stream(path)
        self._damage: Exception | None = None
        self._rest = memoryview(b"")  # the part of the current chunk that is not read yet
        self._next = self._read()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current chunk; returns 0 at the end."""
        if not self._rest:
            self._rest = memoryview(self._chunk())
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def raise_damage(self) -> None:
        if self._damage is not None:
            raise self._damage

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _chunk(self) -> bytes:
        """The next chunk; only whole lines of the last one before the damage."""
        chunk, self._next = self._next, self._read()
        return chunk if self._damage is None else chunk[: chunk.rfind(b"\n") + 1]

    def _read(self) -> bytes:
        if self._damage is not None:
            return b""
        try:
            return self._stream.read(_CHUNK)
        except (pa.ArrowException, OSError) as error:
            self._damage = error
            return b""
