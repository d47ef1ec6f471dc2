"""Table 1 as printed in the paper: median hold-out NLP over ten folds, and 2-σ intervals.

σ is the standard deviation over the folds, not the standard error: on the published splits this
gives the paper's intervals for EP and KL almost exactly, and σ/√10 gives a third of them.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

# "Large" in the paper is the NLP of a method that is almost certain of wrong answers. A method that
# always predicts 0.5 has an NLP of log 2 = 0.69; the largest printed numbers are .64 and, as an
# interval, .43. An NLP above one nat per row means over-confident wrong answers.
_LARGE = 1.0


class TableEntry(NamedTuple):
    """Median ± interval, printed with two digits, as in the paper."""

    median: float
    interval: float

    @classmethod
    def of(cls, folds: Sequence[float]) -> "TableEntry":
        """The entry for one number per fold."""
        spread = float(np.std(folds, ddof=1)) if len(folds) > 1 else 0.0
        return cls(float(np.median(folds)), 2.0 * spread)

    @classmethod
    def from_text(cls, text: str) -> "TableEntry":
        """Parse an entry as printed in the paper."""
        if text == "Large":
            return cls(np.inf, np.inf)
        median, interval = text.split("±")
        return cls(float(median), float(interval))

    @property
    def is_large(self) -> bool:
        return max(self.median, self.interval) > _LARGE

    def __str__(self) -> str:
        if self.is_large:
            return "Large"
        return "±".join(f"{value:.2f}".removeprefix("0") for value in self)


class Verdict(Enum):
    """Comparison of a score with the paper's. The value is its mark in a table."""

    BETTER = " ▼"  # a lower NLP
    AGREES = ""
    WORSE = " ▲"


def compare(ours: TableEntry, paper: TableEntry) -> Verdict:
    """Two scores agree if ours, rounded as printed, is within the paper's interval."""
    if ours.is_large or paper.is_large:
        if ours.is_large and paper.is_large:
            return Verdict.AGREES
        return Verdict.WORSE if ours.is_large else Verdict.BETTER
    away = _printed(ours.median) - _printed(paper.median)
    if abs(away) <= _printed(paper.interval):
        return Verdict.AGREES
    return Verdict.WORSE if away > 0 else Verdict.BETTER


def _printed(value: float) -> int:
    """The value in units of the last printed digit."""
    return round(100 * float(f"{value:.2f}"))


class TableColumn(NamedTuple):
    """A method with its number of inducing points."""

    family: str  # the paper's name
    method: str  # ours
    points: int | float | None  # a number, a share of the training rows, or None: all rows

    @property
    def label(self) -> str:
        if self.points is None:
            return self.family
        count = f"{self.points:.0%}" if isinstance(self.points, float) else self.points
        return f"{self.family} M={count}"


_SPARSE = {"EPFitc": "fitc_ep", "KLSp": "sparse_kl", "MFSp": "sparse_mean_field"}
# Three columns of the paper have the heading "M=3.0%". Their numbers are those of 30 %: on thyroid
# 3 % would be 4 points for 140 rows, but all three methods are better there than with 8; on
# ringnorm Generalized FITC has .20±.01 with 30 % of the rows, as printed, and .30±.01 with 3 %.
_PRINTED, _MEANT = 0.03, 0.3

COLUMNS = (
    TableColumn("KL", "full_kl", None),
    TableColumn("EP", "ep", None),
    *(
        TableColumn(family, method, points)
        for family, method in _SPARSE.items()
        for points in (8, _MEANT)
    ),
)
AS_PRINTED = tuple(TableColumn(family, method, _PRINTED) for family, method in _SPARSE.items())

LABELS = {"breast_cancer": "cancer", "flare_solar": "flare solar"}  # other names are the same
_TABLE = """
thyroid        .11±.05  .11±.05  .15±.04  .13±.04  .13±.06  .09±.05  .22±.16  .15±.14
heart          .46±.14  .43±.11  .42±.08  .44±.08  .42±.11  .47±.18  .41±.15  .43±.19
twonorm        .17±.43  .08±.01  Large    .08±.01  .08±.01  .09±.02  Large    Large
ringnorm       .21±.22  .18±.02  .34±.01  .20±.01  .41±.09  .15±.03  .46±.00  Large
german         .51±.09  .48±.06  .49±.04  .50±.04  .49±.05  .51±.08  .52±.06  .51±.09
waveform       .23±.09  .23±.02  .22±.01  .22±.01  .23±.01  .25±.04  .28±.01  Large
breast_cancer  .56±.09  .55±.08  .58±.06  .56±.07  .56±.07  .58±.13  .58±.11  .59±.11
flare_solar    .59±.02  .60±.02  .57±.02  .57±.02  .59±.02  .58±.02  .64±.05  .60±.04
diabetes       .48±.04  .48±.03  .50±.02  .51±.02  .47±.02  .51±.04  Large    .50±.04
"""
_LINES = [line.split() for line in _TABLE.strip().splitlines()]
DATA_SETS = tuple(name for name, *_ in _LINES)


def _entries() -> dict[tuple[str, TableColumn], TableEntry]:
    printed = {
        (name, column): TableEntry.from_text(entry)
        for name, *entries in _LINES
        for column, entry in zip(COLUMNS, entries, strict=True)
    }
    read_as_printed = {
        (name, column._replace(points=_PRINTED)): score
        for (name, column), score in printed.items()
        if column.points == _MEANT
    }
    return printed | read_as_printed


PAPER = _entries()
