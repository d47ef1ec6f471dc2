"""What the user passes as y: labels to codes, and what weighs how much.

Rows in memory come through here; labels of a stream or a cluster, which are never all at hand, get
their codes while they are read (data/label_codes.py). What a label may be is the same for all of
them (data/label_values.py), and what a likelihood makes of a code is its own matter
(`Bernoulli.encoded`).
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight

from ..data.label_values import check_classes, find_bad_label, plain, shown
from ..exceptions import warn

_KINDS: tuple[type, ...] = (str, bool, Real, np.datetime64, np.timedelta64)


class Classes(NamedTuple):
    """The two labels in sorted order, and the number of each row's."""

    labels: np.ndarray
    codes: Int[np.ndarray, " N"]
    given: bool = False  # by the user: one of them may then be absent


def label_column(y: Any) -> Any:
    """The labels as an array of one of the types that a model file can hold.

    What scikit-learn has words of its own for (no y, several columns) is left to it.
    """
    y = one_column(y)
    if hasattr(y, "isna") and hasattr(getattr(y, "dtype", None), "numpy_dtype"):
        return _of_nullable(y)
    try:
        labels = np.asarray(y)
    except ValueError:  # rows of different lengths
        return y
    if y is None or labels.ndim != 1:
        return y
    if labels.dtype.kind == "T":  # NumPy's texts of any length, unknown to scikit-learn
        labels = labels.astype(object)
    if labels.dtype.kind == "U" and isinstance(y, list | tuple):
        _check_not_mixed(y)
    bad = find_bad_label(labels)
    if bad is not None and bad.reason is not None:
        raise ValueError(f"row {bad.row} of y is {bad.reason}.")
    if bad is not None and labels.dtype.kind != "f":  # scikit-learn says where a NaN is
        raise ValueError(f"row {bad.row} of y has no label. Leave that row out.")
    if labels.dtype.kind == "O":
        return _of_objects(labels)
    return labels.astype(labels.dtype.newbyteorder("="), copy=False)


def one_column(y: Any) -> Any:
    """The targets; a table of one column gives that column, with a warning."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return y
    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return np.asarray(y)[:, 0]


def _of_nullable(y: Any) -> np.ndarray:
    """Of a column whose values may be absent, if none is."""
    absent = np.asarray(y.isna(), bool)
    if absent.any():
        raise ValueError(f"row {int(np.argmax(absent))} of y has no label. Leave that row out.")
    return np.asarray(y.to_numpy(dtype=y.dtype.numpy_dtype))


def _of_objects(labels: np.ndarray) -> np.ndarray:
    """Python values: texts stay as they are, numbers get the dtype that holds them."""
    values = [plain(label) for label in labels]
    _check_not_mixed(values)
    if isinstance(values[0], str):
        return np.array([str(value) for value in values], object)
    found = np.array(values)
    if found.dtype.kind == "O":
        raise ValueError(f"y holds {shown(values[0])}, a number too large for a label.")
    return found


def _check_not_mixed(values: Sequence[Any]) -> None:
    first = values[0]
    kind = next(kind for kind in _KINDS if isinstance(first, kind))
    for row, value in enumerate(values):
        if not isinstance(value, kind) or (kind is Real and isinstance(value, bool)):
            raise ValueError(
                f"y mixes types: row 0 is {shown(first)} ({type(first).__name__}), and row {row} "
                f"is {shown(value)} ({type(value).__name__}). Make all labels of one type, for "
                "instance texts."
            )


def known_classes(y: np.ndarray, classes: Any) -> Classes:
    """The two labels that the user says there are."""
    labels = np.unique(np.asarray(label_column(classes)))
    if len(labels) != 2:
        raise ValueError(f"classes must name two labels, got {listed(labels)}.")
    check_classes(labels)
    strange = ~np.isin(y, labels)
    if np.any(strange):
        raise ValueError(
            f"row {int(np.argmax(strange))} of y is {shown(y[strange][0])}, which is not one of "
            f"the classes {listed(labels)}."
        )
    return Classes(labels, (y == labels[1]).astype(np.int64), given=True)


def check_same_classes(classes: Any, known: np.ndarray) -> None:
    """What a later call names as the classes, if anything, are those of the first."""
    if classes is None:
        return
    labels = np.unique(np.asarray(label_column(classes)))
    if not np.array_equal(labels, known):
        raise ValueError(
            f"classes is {listed(labels)}, but in the first call it was {listed(known)}."
        )


def two_classes(y: np.ndarray) -> Classes:
    """Any two distinct labels; one or three are an error that counts them."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous"):
        raise ValueError(f"Unknown label type: {kind}. y must hold two classes, not measurements.")
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) > 2:
        some = ", ".join(map(shown, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y holds "
            f"{len(labels)} classes ({some})."
        )
    if len(labels) < 2:
        raise ValueError(f"y holds 1 class ({shown(labels[0])}); two classes are needed to fit.")
    check_classes(labels)
    return Classes(labels, codes)


def listed(labels: np.ndarray) -> str:
    """Labels as a message lists them."""
    return f"[{', '.join(map(shown, labels))}]"


def row_weights(
    sample_weight: Any, class_weight: Any, X: np.ndarray, classes: Classes
) -> Float[np.ndarray, " N"]:
    """sample_weight times class_weight, both checked."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    check_not_negative(weights)
    totals = np.bincount(classes.codes, weights, minlength=2)
    weights = weights * class_factors(class_weight, classes.labels, totals)[classes.codes]
    if not classes.given and len(np.unique(classes.codes[weights > 0])) < 2:
        raise ValueError(
            "the rows with a positive weight belong to 1 class at most; two classes are needed."
        )
    return weights


def check_not_negative(weights: Float[np.ndarray, " N"]) -> None:
    """Refuse negative weights, and say where one is."""
    if np.any(weights < 0):
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight must not be negative, but row {row} has {weights[row]:g}.")


def class_factors(
    class_weight: Any, labels: np.ndarray, totals: Float[np.ndarray, " 2"]
) -> Float[np.ndarray, " 2"]:
    """What class_weight multiplies onto the rows of each class, whose total weights are given."""
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str) and class_weight == "balanced":
        if np.any(totals == 0):
            return np.ones(2)  # row_weights says what is wrong
        return totals.sum() / (2.0 * totals)
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    per_class = np.ones(2)
    for label, factor in class_weight.items():
        named = [bool(label == known) for known in labels]  # not by hash: dates have units
        if not any(named):
            raise ValueError(
                f"class_weight names {shown(label)}, but the classes in y are {listed(labels)}."
            )
        per_class[named.index(True)] = float(factor)
    if np.any(per_class < 0) or not np.all(np.isfinite(per_class)):
        raise ValueError(f"class_weight must hold non-negative numbers, got {class_weight!r}.")
    return per_class
