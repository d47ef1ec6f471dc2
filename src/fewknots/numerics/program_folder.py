"""A folder of compiled programs, for this machine and this user.

Programs are machine code: anyone who can write one can do anything the user can do, and code for
another processor crashes the process. So

    the folder     belongs to the user, and nobody else can write to it; otherwise it is not used
    <machine>/     one for each environment: processor, host, Python, JAX's build, XLA's flags
    <program>      a SHA-256 of its name and content, then the content

A file is written under another name and renamed, so that a process reads a complete file or none;
a file whose SHA-256 does not match its content is removed. The folder has a maximum size: the
programs that have been unused for the longest time are removed.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_MOST_BYTES = 256 * 2**20
_DIGEST_BYTES = 32


class UnusableFolderError(Exception):
    """A folder cannot be used for programs: the message says why."""


class ProgramFolder:
    """The programs of one environment, in `folder`; at most `most` bytes for all environments."""

    def __init__(self, folder: Path, environment: str, most: int = _MOST_BYTES) -> None:
        self._folder, self._most = folder, most
        self._own = folder / hashlib.sha256(environment.encode()).hexdigest()[:32]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_own(folder)
            self._own.mkdir(mode=0o700, exist_ok=True)
            _check_own(self._own)
            with tempfile.TemporaryFile(dir=self._own):
                pass
        except OSError as error:
            raise UnusableFolderError(f"it cannot be written to ({error})") from error

    def read(self, name: str) -> bytes | None:
        """The program with this name; None if there is none that is complete and belongs to the
        user.
        """
        path = self._own / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            with open(descriptor, "rb") as file:
                if _foreign(os.fstat(file.fileno()), stat.S_ISREG):
                    return None
                found = file.read()
            os.utime(path)  # mark it as used now
        except OSError:
            return None
        digest, content = found[:_DIGEST_BYTES], found[_DIGEST_BYTES:]
        if digest != _digest(name, content):
            self.remove(name)
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Save a program, and remove the oldest if there are too many; errors are ignored."""
        with suppress(OSError):
            descriptor, temporary = tempfile.mkstemp(dir=self._own)
            try:
                with open(descriptor, "wb") as file:
                    file.write(_digest(name, content) + content)
                os.replace(temporary, self._own / name)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            self._remove_oldest()

    def remove(self, name: str) -> None:
        with suppress(OSError):
            (self._own / name).unlink()

    def _remove_oldest(self) -> None:
        """Remove the oldest programs, including incomplete files of killed processes."""
        kept = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):  # another process may have removed it already
                found = path.lstat()
                kept.append((found.st_mtime_ns, found.st_size, path))
        size = sum(of_one for _, of_one, _ in kept)
        for _, of_one, path in sorted(kept):
            if size <= self._most:
                return
            path.unlink(missing_ok=True)
            size -= of_one


def _check_own(folder: Path) -> None:
    if _foreign(folder.lstat(), stat.S_ISDIR):
        raise UnusableFolderError(
            f"{folder} is a link, belongs to another user, or others can write to it"
        )


def _foreign(found: os.stat_result, is_kind) -> bool:
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not is_kind(found.st_mode) or found.st_uid != os.geteuid() or bool(others_write)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()
