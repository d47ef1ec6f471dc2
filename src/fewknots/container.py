r"""One file with named arrays and a JSON header: safetensors, sealed with a checksum.

A safetensors file is an eight-byte length, a JSON text that gives each array's dtype, shape and
place, then the arrays. Its metadata has one entry of ours, "fewknots": another JSON text with the
caller's header and a SHA-256 of that header and all arrays, so that an edited or damaged file is
noticed. Nothing in the file is ever executed.

A file appears whole or not at all: it is written beside its final name, flushed to disk, and
moved there.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_arrays
from safetensors.numpy import save as serialise_arrays

from .exceptions import ModelFileError

_KEY = "fewknots"
_LARGEST_HEADER = 64 * 2**20
_LENGTH_BYTES = 8

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


def write(path: str | os.PathLike[str], header: Header, arrays: Arrays) -> None:
    """Write header and arrays to `path`, replacing what was there in one step."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    sealed = {"header": header, "sha256": _digest(header, arrays)}
    content = serialise_arrays(arrays, metadata={_KEY: json.dumps(sealed, allow_nan=False)})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file to write to, which becomes `path` when the block ends well, and else vanishes."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        yield temporary
        os.fsync(handle)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink()
        raise
    finally:
        os.close(handle)


def read(path: str | os.PathLike[str]) -> tuple[Header, Arrays]:
    """The header and arrays of a file that `write` wrote; anything else is a ModelFileError."""
    content = Path(path).read_bytes()
    sealed = _sealed_header(path, content)
    try:
        arrays = parse_arrays(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path} is damaged: its arrays cannot be read ({error}).") from error
    header = sealed["header"]
    if sealed["sha256"] != _digest(header, arrays):
        raise ModelFileError(
            f"{path} was changed after it was written: its checksum does not match. Get an "
            "unchanged copy, or save the model again."
        )
    return header, arrays


def _sealed_header(path: str | os.PathLike[str], content: bytes) -> dict[str, Any]:
    """Our part of the safetensors header, found without trusting anything in it."""
    foreign = ModelFileError(f"{path} is not a fewknots model file.")
    if len(content) < _LENGTH_BYTES:
        raise ModelFileError(f"{path} is not a fewknots model file: it has {len(content)} bytes.")
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    if length > _LARGEST_HEADER:
        raise foreign
    if _LENGTH_BYTES + length > len(content):
        raise ModelFileError(f"{path} is not a fewknots model file, or it was cut off.")
    try:
        safetensors_header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length])
        metadata = safetensors_header["__metadata__"][_KEY]
        sealed = json.loads(metadata)
        ends = [
            entry["data_offsets"][1]
            for name, entry in safetensors_header.items()
            if name != "__metadata__"
        ]
        complete = max(ends, default=0) <= len(content) - _LENGTH_BYTES - length
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise foreign from None
    if not complete:
        raise ModelFileError(f"{path} was cut off: the end of its arrays is missing.")
    if not (isinstance(sealed, dict) and isinstance(sealed.get("header"), dict)):
        raise foreign
    return {"header": sealed["header"], "sha256": sealed.get("sha256")}


def _digest(header: Header, arrays: Arrays) -> str:
    seal = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        seal.update(f"{name} {array.dtype.str} {array.shape}".encode())
        seal.update(np.ascontiguousarray(array).tobytes())
    return seal.hexdigest()


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
