"""Which values can be labels, and how messages show them.

Texts, numbers, booleans and NumPy's dates can be kept in a model file and come back as they were.
Everything else is refused before any work, whether the rows are in memory or in a stream.
"""

from typing import Any, NamedTuple

import numpy as np

WHAT_CAN_BE = "Labels are texts, numbers, booleans or NumPy dates"
LONGEST_LABEL = 100_000  # characters: both labels are in the header of every model file
_PLAIN = (str, bool, int, float, np.bool_, np.integer, np.floating, np.datetime64, np.timedelta64)


class BadLabel(NamedTuple):
    """The first label that cannot be one; `reason` is None where there is no value at all."""

    row: int
    reason: str | None


def shown(value: Any) -> str:
    """A value as a message shows it: 0.0 and not np.float64(0.0)."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return repr(str(value))
    return repr(value.item() if isinstance(value, np.generic) else value)


def plain(label: Any) -> Any:
    """The label as a Python value; a date stays NumPy's, whose units Python does not have."""
    if isinstance(label, np.generic) and label.dtype.kind not in "mM":
        return label.item()
    return label


def find_bad_label(labels: np.ndarray) -> BadLabel | None:
    """The first value in an array of one axis that cannot be a label, if there is one."""
    kind = labels.dtype.kind
    if not len(labels) or kind in "biuU":
        return None
    if kind in "fmM":
        absent = np.isnan(labels) if kind == "f" else np.isnat(labels)
        if absent.any():
            return BadLabel(int(np.argmax(absent)), None)
        if labels.dtype.itemsize <= 8:
            return None
        return BadLabel(0, f"of dtype {labels.dtype}. Use np.array(y, float)")
    if kind == "c":  # in scikit-learn's words, for which its own checks look
        return BadLabel(0, f"{shown(labels[0])}. Complex data not supported. {WHAT_CAN_BE}")
    if kind == "S":
        return BadLabel(0, f"{shown(labels[0])}, bytes. Use texts: np.array(y).astype(str)")
    if kind != "O":
        return BadLabel(0, f"of dtype {labels.dtype}. {WHAT_CAN_BE}")
    for row, label in enumerate(labels):
        if isinstance(label, _PLAIN) and label == label:
            continue
        # None, NaN, NaT and pandas.NA are all that is not equal to itself, or says nothing
        if label is None or not _is_itself(label):
            return BadLabel(row, None)
        return BadLabel(row, f"{shown(label)}, of type {type(label).__name__}. {_advice(label)}")
    return None


def _advice(label: Any) -> str:
    if hasattr(label, "year") and getattr(label, "tzinfo", None) is None:
        return f"{WHAT_CAN_BE}: use np.array(y, 'datetime64[s]')"
    return f"{WHAT_CAN_BE}: use texts, for instance np.array(y).astype(str)"


def check_classes(labels: np.ndarray) -> None:
    """Both labels can be written to a file and read again."""
    for label in labels:
        if not isinstance(label, str):
            continue
        if len(label) > LONGEST_LABEL:
            raise ValueError(
                f"a label in y is a text of {len(label):,} characters, and {LONGEST_LABEL:,} is "
                "the most. Use a shorter name for the class."
            )
        if any("\ud800" <= letter <= "\udfff" for letter in label):
            raise ValueError(
                f"the label {str(label)!r} in y is no valid text: it holds half a character (a "
                "surrogate). Read the file it comes from with its right encoding."
            )


def _is_itself(label: Any) -> bool:
    try:
        return bool(label == label)
    except (TypeError, ValueError):  # pandas.NA has no truth
        return False
