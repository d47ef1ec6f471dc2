"""Why a row cannot be turned into numbers, in words for the person who has the table.

An encoding gives its reasons row by row and goes on with the others. Who needs all rows, as a fit
does, turns the first reason into an error.
"""

from typing import NoReturn

import numpy as np
import pyarrow as pa

from ...data.sources import Place
from ...exceptions import DataError

Reasons = dict[int, str]  # by the row's number in the piece at hand

_MOST_SHOWN = 60  # letters of a cell
_EXAMPLES = {"number": "", "date": " such as 2024-12-31 or 2024-12-31 23:59"}


def missing(name: str, absent: np.ndarray) -> Reasons:
    """The reason for values that are missing in a column that never had a gap."""
    reason = (
        f"column {name!r} has no value, and none was missing in the rows that the model was "
        "fitted to"
    )
    return dict.fromkeys(map(int, np.flatnonzero(absent)), reason)


def not_a(kind: str, column: pa.Array, name: str, unreadable: np.ndarray) -> Reasons:
    """The reason for cells that say something else than the column's other ones."""
    return {
        int(row): f"column {name!r} is {_shown(column[row])}, which is not a {kind}"
        + _EXAMPLES[kind]
        for row in np.flatnonzero(unreadable)
    }


def joined(first: Reasons, second: Reasons) -> Reasons:
    """Both, where a row has two reasons one after the other."""
    if not first or not second:
        return first or second
    both = {row: f"{first[row]}; {second[row]}" for row in first.keys() & second.keys()}
    return first | second | both


def refuse(reasons: Reasons, place: Place) -> NoReturn:
    """The first reason as an error."""
    row = min(reasons)
    raise DataError(
        f"{place.row(row)}: {reasons[row]}. Correct it, or leave the row out.{place.note}"
    )


def refuse_other_cells(reasons: Reasons, name: str, place: Place) -> None:
    """An error if a column turns out to hold something else than its first rows."""
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
