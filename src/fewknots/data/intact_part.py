"""A compressed file as far as it is good, for a reader that reads ahead.

pyarrow decompresses a CSV in a thread of its own, ahead of its parser. If that fails, all that was
read ahead is forgotten: which row a message names would depend on which thread was the quicker one.
Here the file seems to end with the last line before the damage. Whoever has read it to that end
asks whether there was any.
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
    """What pyarrow is to read of a file, and what to call after it: it raises the damage, if any.

    A file that is not compressed is read as it is.
    """
    if path.suffix.lower() not in _COMPRESSED:
        yield path, lambda: None
        return
    part = _IntactPart(path)
    with io.BufferedReader(part, _CHUNK) as file:
        yield file, part.raise_damage


class _IntactPart(io.RawIOBase):
    """The bytes of a file, decompressed, up to the last line before any damage."""

    def __init__(self, path: Path) -> None:
        self._stream = pa.input_stream(path)
        self._damage: Exception | None = None
        self._rest = memoryview(b"")  # of a chunk that is being given out
        self._next = self._read()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the chunk at hand goes; 0 at the end."""
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
        """The next one; of the last before the damage only whole lines."""
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
