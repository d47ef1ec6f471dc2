"""Columns of numbers as Arrow keeps them: read as float64."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data import cells
from ...data.cells import MICROSECONDS_A_DAY, Read
from ...data.sources import Place
from ...exceptions import DataError


def as_numbers(column: pa.Array, name: str, place: Place, flags: bool = False) -> Read:
    """The column as float64, NaN where a value is missing or cannot be read; durations in days."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if cells.is_text(column.type):
        return cells.numbers(column.cast(pa.large_string()), place.layout.decimal, flags)
    try:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if pa.types.is_duration(column.type):
            microseconds = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
            numbers = pc.divide(microseconds.cast(pa.float64(), safe=False), MICROSECONDS_A_DAY)
        else:
            numbers = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place.name}: column {name!r} holds {column.type}, which cannot be read as numbers "
            f"({error}). The model was fitted to a column of numbers."
        ) from error
    return Read(numbers.to_numpy(zero_copy_only=False), np.zeros(len(column), bool))


def have_leading_zeros(column: pa.Array) -> bool:
    """Whether a number is written as 01234, in a column of text."""
    if not cells.is_text(column.type):
        return False
    return bool(pc.any(pc.match_substring_regex(column, r"^0\d+$")).as_py())
