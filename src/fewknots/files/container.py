r"""One file with named arrays and a JSON header: safetensors with a checksum.

A safetensors file is an eight-byte length, a JSON text with each array's dtype, shape and position,
then the arrays. Its metadata has one entry of ours, "fewknots": another JSON text with the caller's
header and a SHA-256 of that header and all arrays, so that an edited or damaged file is detected.
Nothing in the file is ever executed.

Writing is atomic: a temporary file in the same folder is written, flushed to disk and renamed.
"""

import hashlib
import json
import os
import reprlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_arrays
from safetensors.numpy import save as serialise_arrays

from ..exceptions import ModelFileError
from ..stopping import removed_on_forced_exit

_KEY = "fewknots"
_LARGEST_HEADER = 64 * 2**20
_MOST_PARTS = 100_000  # lists and objects in a header
_MOST_VALUES = 4_000_000  # as many numbers, written in full, as the largest header holds
_LENGTH_BYTES = 8
_QUOTE = reprlib.Repr()
_QUOTE.maxstring = _QUOTE.maxother = 200

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


def write(path: str | os.PathLike[str], header: Header, arrays: Arrays) -> None:
    """Write header and arrays to `path`, replacing what was there in one step."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    sealed = {"header": header, "sha256": _digest(header, arrays)}
    content = serialise_arrays(arrays, metadata={_KEY: json.dumps(sealed, allow_nan=False)})
    if int.from_bytes(content[:_LENGTH_BYTES], "little") > _LARGEST_HEADER:
        raise ValueError(
            f"the arguments to be saved take more than {_LARGEST_HEADER >> 20} MiB as text, more "
            "than a model file can contain. Pass fewer inducing_points."
        )
    _check_readable(path, content, header)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def as_read(header: Header) -> Header:
    """The header as `read` will return it."""
    return json.loads(json.dumps(header, allow_nan=False))


def _check_readable(path: str | os.PathLike[str], content: bytes, header: Header) -> None:
    """Raise an error if `read` would not accept the header that is to be written."""
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    try:
        sealed, _ = _sealed_header(path, content[_LENGTH_BYTES : _LENGTH_BYTES + length])
    except ModelFileError:
        raise ValueError(
            f"the arguments to be saved have more than {_MOST_VALUES:,} values or "
            f"{_MOST_PARTS:,} parts, more than a model file can contain. Pass fewer "
            "inducing_points."
        ) from None
    read, written = (
        json.dumps(part, sort_keys=True, ensure_ascii=False) for part in (sealed["header"], header)
    )
    if read != written:
        raise ValueError(
            "a text to be saved, such as a column's name, is not a valid text: it contains half a "
            "character (a surrogate). Rename it."
        )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to. It replaces `path` at the end; on an error it is deleted."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with removed_on_forced_exit(temporary):
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
    """The header and arrays of a file that `write` wrote; anything else is a ModelFileError.

    Sizes are checked before that much memory is used: reading needs at most a few times the length
    of the file, and headers are at most `_LARGEST_HEADER` bytes long.
    """
    content, sealed = _checked_content(path)
    try:
        arrays = parse_arrays(content)
        digest = _digest(sealed["header"], arrays)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(
            f"{path} is damaged: its arrays cannot be read ({shown(error)})."
        ) from error
    if sealed["sha256"] != digest:
        raise ModelFileError(
            f"{path} was changed after it was written: its checksum does not match. Get an "
            "unchanged copy, or save the model again."
        )
    return sealed["header"], arrays


def _checked_content(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Any]]:
    """The whole file and our part of its header, after checking the sizes in the header."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise ModelFileError(f"{path} is not a file but a folder, a pipe or a device.")
        file = open(path, "rb")  # noqa: SIM115  (closed below)
    except ValueError as error:  # a zero byte
        raise ModelFileError(f"{shown(path)} is not a file's name ({error}).") from error
    with file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_LENGTH_BYTES)
        if len(start) < _LENGTH_BYTES:
            raise ModelFileError(f"{path} is not a fewknots model file: it has {size} bytes.")
        length = int.from_bytes(start, "little")
        if length > _LARGEST_HEADER:
            raise ModelFileError(f"{path} is not a fewknots model file.")
        if _LENGTH_BYTES + length > size:
            raise ModelFileError(f"{path} is not a fewknots model file, or it was cut off.")
        text = file.read(length)
        sealed, end = _sealed_header(path, text)
        end += _LENGTH_BYTES + length
        if end > size:
            raise ModelFileError(f"{path} was cut off: the end of its arrays is missing.")
        if end < size:
            raise ModelFileError(f"{path} is damaged: something follows the end of its arrays.")
        file.seek(0)
        return file.read(), sealed


def _sealed_header(path: str | os.PathLike[str], text: bytes) -> tuple[dict[str, Any], int]:
    """Our part of the safetensors header and the end of the arrays; nothing in it is trusted."""
    foreign = ModelFileError(f"{path} is not a fewknots model file.")
    try:
        entries = _parsed(text.decode())
        sealed = _parsed(entries.pop("__metadata__")[_KEY])
        ends = [entry["data_offsets"][1] for entry in entries.values()]
        end = max(ends, default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise foreign from None
    if not (isinstance(sealed, dict) and isinstance(sealed.get("header"), dict)):
        raise foreign
    if not isinstance(end, int):
        raise foreign
    return {"header": sealed["header"], "sha256": sealed.get("sha256")}, end


def _parsed(text: str) -> Any:
    """Parse JSON, with a limit on its parts: small objects need far more memory than their text."""
    if text.count("[") + text.count("{") > _MOST_PARTS or text.count(",") > _MOST_VALUES:
        raise ValueError("too many parts")
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def shown(value: Any) -> str:
    """A value from a file for an error message: its `repr`, shortened."""
    return _QUOTE.repr(value)


def _digest(header: Header, arrays: Arrays) -> str:
    seal = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        seal.update(f"{name} {array.dtype.str} {array.shape}".encode())
        seal.update(np.ascontiguousarray(array).tobytes())
    return seal.hexdigest()


def _umask() -> int:
    """The umask of the process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
