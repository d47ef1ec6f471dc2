"""All rows of a source in one scratch file, from which any row can be read directly.

Training needs rows in random order, which most sources cannot provide: to read row 5 million of a
CSV one has to read all rows before it, and a file sorted by label must be shuffled. So the first
pass copies every row to a file of rows of equal width,

    feature 1 ... feature D, target, weight            (float32 if that is exact, else float64)

and collects what training needs to know before it starts: the number of rows, the two labels, means
and standard deviations. Row n is then at n times the width. The target is the code of a label, or a
number as the likelihood has it.

The file is read with `pread`, not mapped: pages in the system's cache can be released at any time,
while mapped pages count as memory of this process. The file has no name in its folder (POSIX), so
no file remains, however the process ends.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from .sources import ROWS_IN_A_BLOCK, Place, Source
from .standardise import Moments
from .targets import LabelCodes, NumberTargets

# Full disk, used-up quota, and the largest file that the system allows.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NUMBERS_IN_A_BLOCK = 2**21  # wide tables are copied in blocks of fewer rows: 16 MB at most

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


class Spool:
    """The rows of a source on disk, for reading in any order. `Spool.written` makes one."""

    n_rows: int
    n_features: int
    feature_names: tuple[str, ...] | None
    dtype: np.dtype  # of the features in the file
    classes: np.ndarray | None  # all labels, sorted; None where targets are numbers
    class_totals: np.ndarray  # the weight of all rows of each class, or of all rows
    mean: np.ndarray
    scale: np.ndarray  # population standard deviation; 1 for a constant column
    minimum: np.ndarray
    maximum: np.ndarray

    def __init__(self, source: Source, folder: Path, numbers: bool) -> None:
        self.n_features = source.n_features
        self.feature_names = source.feature_names
        self.dtype = np.dtype("<f4" if source.exact_in_float32 and not numbers else "<f8")
        self.n_rows = 0
        self._folder = folder
        self._row_bytes = (self.n_features + 2) * self.dtype.itemsize
        # stays open while the spool is in use, so no `with` here
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115

    @classmethod
    def written(
        cls,
        source: Source,
        folder: Path,
        classes: np.ndarray | None = None,
        encode: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> "Spool":
        """Copy all rows of `source` to a scratch file in `folder`.

        `classes`, if given, are the possible labels; then some of them may be absent.
        `encode`, if given, makes targets of numbers; then there are no labels.
        """
        spool = cls(source, folder, numbers=encode is not None)
        try:
            if encode is None:
                codes = LabelCodes(source.target_name, classes)
                totals = spool._write(source, codes.codes)
                spool._set_classes(codes, totals)
            else:
                spool._write(source, NumberTargets(source.target_name, encode).encoded)
        except BaseException:
            spool.close()
            raise
        return spool

    def take(self, rows: np.ndarray) -> Rows:
        """X, codes and weights of the given row numbers, in the given order.

        X is not standardised; a code is the index of the row's label in `classes`, or the row's
        number. Consecutive rows are read together, so runs of rows cost far less than single rows.
        """
        rows = np.asarray(rows, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.n_rows:
            raise IndexError(f"row numbers run from 0 to {self.n_rows - 1}.")
        held = np.empty((len(rows), self.n_features + 2), self.dtype)
        starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        for start, stop in zip(starts, np.append(starts, len(rows))[1:], strict=True):
            held[start:stop] = self._read(int(rows[start]), int(stop - start))
        return self._split(held)

    def blocks(self, size: int) -> Iterator[Rows]:
        """All rows in the order of the source, `size` at a time (fewer in the last block)."""
        for start in range(0, self.n_rows, size):
            yield self._split(self._read(start, min(size, self.n_rows - start)))

    def close(self) -> None:
        """Release the disk space."""
        self._file.close()

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _write(
        self, source: Source, encode: Callable[[np.ndarray, Place], np.ndarray]
    ) -> np.ndarray:
        """Returns the weight of all rows of each code, in the order of the codes."""
        self._check_free_space(source.n_rows)
        moments: Moments | None = None
        totals = np.zeros(1)
        seal = hashlib.blake2b(digest_size=16)
        size = min(ROWS_IN_A_BLOCK, max(1, _NUMBERS_IN_A_BLOCK // self.n_features))
        for block in source.blocks(size):
            if block.labels is None:
                raise ValueError("the source gives no labels: name the column with target=.")
            targets = encode(block.labels, block.place)
            weights = np.ones(len(block.X)) if block.weights is None else block.weights
            moments = moments or Moments(block.X[0])
            moments.add(block.X, weights)
            codes = targets if targets.dtype.kind == "i" else np.zeros(len(targets), np.int8)
            found = np.bincount(codes, weights, minlength=len(totals))
            totals = np.pad(totals, (0, len(found) - len(totals))) + found
            held = np.empty((len(block.X), self.n_features + 2), self.dtype)
            held[:, :-2], held[:, -2], held[:, -1] = block.X, targets, weights
            seal.update(held.data)
            self._append(held)
            self.n_rows += len(held)
        assert moments is not None  # a source without rows raises an error of its own
        self.classes, self.class_totals, self._seal = None, totals[:1], seal
        self.mean, self.scale = moments.mean, moments.scale
        self.minimum, self.maximum = moments.minimum, moments.maximum
        return totals

    def _set_classes(self, codes: LabelCodes, totals: np.ndarray) -> None:
        self.classes = codes.classes()
        self._order = codes.order()
        self.class_totals = np.zeros(len(self.classes))
        np.add.at(self.class_totals, self._order[: len(totals)], totals)
        codes.check_weights(self.class_totals)

    @property
    def digest(self) -> str:
        """Fingerprint of all rows in their order."""
        labels = None if self.classes is None else self.classes.tolist()
        seal = self._seal.copy()
        seal.update(repr((self.feature_names, self.dtype.str, labels)).encode())
        return seal.hexdigest()

    def _append(self, held: np.ndarray) -> None:
        left = held.data.cast("B")
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            if error.errno not in _NO_SPACE:
                raise
            self._raise_no_space(f"more than {self.n_rows * self._row_bytes:,} bytes", error)

    def _check_free_space(self, n_rows: int | None) -> None:
        if n_rows is None:
            return
        needed = n_rows * self._row_bytes
        if shutil.disk_usage(self._folder).free < needed:
            self._raise_no_space(f"{needed:,} bytes", None)

    def _raise_no_space(self, needed: str, cause: OSError | None) -> NoReturn:
        free = shutil.disk_usage(self._folder).free
        raise OSError(
            errno.ENOSPC,
            f"training needs {needed} of scratch space for a copy of the rows, and {free:,} are "
            "free. Set the environment variable TMPDIR to a folder with more room, or pass "
            "checkpoint= with a path there",
            str(self._folder),
        ) from cause

    def _read(self, first: int, count: int) -> np.ndarray:
        size = count * self._row_bytes
        content = os.pread(self._file.fileno(), size, first * self._row_bytes)
        if len(content) < size:
            raise OSError(f"the scratch file in {self._folder} was cut off while it was in use.")
        return np.frombuffer(content, self.dtype).reshape(count, -1)

    def _split(self, held: np.ndarray) -> Rows:
        targets = held[:, -2].copy()
        if self.classes is not None:
            targets = self._order[targets.astype(np.int64)]
        return np.ascontiguousarray(held[:, :-2]), targets, held[:, -1].copy()
