"""Reasons why a row cannot be converted to numbers, as texts for the user.

An encoding returns reasons for single rows and encodes the other rows. A caller that needs all
rows, such as a fit, raises the first reason as an error.
"""

from typing import NoReturn

import numpy as np
import pyarrow as pa

from ...data.sources import Place
from ...exceptions import DataError

Reasons = dict[int, str]  # key: the number of the row in the current piece

_MOST_SHOWN = 60  # characters of a cell
_EXAMPLES = {"number": "", "date": " such as 2024-12-31 or 2024-12-31 23:59"}


def missing(name: str, absent: np.ndarray) -> Reasons:
    """The reason for missing values in a column that had none in training."""
    reason = (
        f"column {name!r} has no value, and none was missing in the rows that the model was "
        "fitted to"
    )
    return dict.fromkeys(map(int, np.flatnonzero(absent)), reason)


def not_a(kind: str, column: pa.Array, name: str, unreadable: np.ndarray) -> Reasons:
    """The reason for cells that are not of the column's kind."""
    return {
        int(row): f"column {name!r} is {_shown(column[row])}, which is not a {kind}"
        + _EXAMPLES[kind]
        for row in np.flatnonzero(unreadable)
    }


def joined(first: Reasons, second: Reasons) -> Reasons:
    """Merge reasons; if a row has two, one follows the other in the text."""
    if not first or not second:
        return first or second
    both = {row: f"{first[row]}; {second[row]}" for row in first.keys() & second.keys()}
    return first | second | both


def refuse(reasons: Reasons, place: Place) -> NoReturn:
    """Raise the first reason as an error."""
    row = min(reasons)
    raise DataError(
        f"{place.row(row)}: {reasons[row]}. Correct it, or leave the row out.{place.note}"
    )


def refuse_other_cells(reasons: Reasons, name: str, place: Place) -> None:
    """Raise an error if cells of a column are not of the kind of its first rows."""
    if reasons:
        row = min(reasons)
        raise DataError(
            f"{place.row(row)}: {reasons[row]}, though the column's first rows are. Correct it, or "
            f"say what the column holds: --column {name}=text, or =skip to leave it out; with "
            f"=number or =date what is neither is a gap.{place.note}"
        )


def _shown(cell: pa.Scalar) -> str:
    text = str(cell.as_py())
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")
