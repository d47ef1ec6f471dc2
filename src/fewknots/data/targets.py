"""Labels and codes: which labels are allowed, their codes, and weights of classes.

A code is the number of a label among the sorted classes. A likelihood may encode it further
(`Likelihood.encoded`).

| where the rows are | codes are made by                                                          |
|--------------------|----------------------------------------------------------------------------|
| in memory          | `found_classes`, or `known_classes` if the user names them                 |
| in a stream, Dask  | `LabelCodes`, while the labels are read, since they are never all in memory|
| in a table's files | the same, by the text of each label (tables/recipe/labels.py)              |

Texts, numbers, booleans and NumPy's dates can be saved in a model file and restored exactly.
Everything else is refused before a fit starts, wherever the rows are.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight

from ..exceptions import DataError, warn
from .sources import Place, missing_value
from .tables import LARGEST_VALUE

WHAT_CAN_BE = "Labels are texts, numbers, booleans or NumPy dates"
LONGEST_LABEL = 100_000  # characters: all labels are in the header of every model file
_ROUNDING = 1e-3  # largest difference of a soft label's sum from 1
MOST_CLASSES = 1000  # each has its own latent function
_PLAIN = (str, bool, int, float, np.bool_, np.integer, np.floating, np.datetime64, np.timedelta64)
_KINDS: tuple[type, ...] = (str, bool, Real, np.datetime64, np.timedelta64)


# --- which labels are allowed
# --------------------------------------------------------------------------


class BadLabel(NamedTuple):
    """The first value that is not allowed as a label; `reason` is None for a missing value."""

    row: int
    reason: str | None


def shown(value: Any) -> str:
    """A value as a message shows it: 0.0 and not np.float64(0.0)."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return repr(str(value))
    return repr(value.item() if isinstance(value, np.generic) else value)


def plain(label: Any) -> Any:
    """The label as a Python value; a date stays a NumPy date, because of its units."""
    if isinstance(label, np.generic) and label.dtype.kind not in "mM":
        return label.item()
    return label


def find_bad_label(labels: np.ndarray) -> BadLabel | None:
    """The first value in a one-dimensional array that is not allowed as a label, if there is
    one.
    """
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
    if kind == "c":  # scikit-learn's own tests look for these words
        return BadLabel(0, f"{shown(labels[0])}. Complex data not supported. {WHAT_CAN_BE}")
    if kind == "S":
        return BadLabel(0, f"{shown(labels[0])}, bytes. Use texts: np.array(y).astype(str)")
    if kind != "O":
        return BadLabel(0, f"of dtype {labels.dtype}. {WHAT_CAN_BE}")
    for row, label in enumerate(labels):
        if isinstance(label, _PLAIN) and label == label:
            continue
        # None, NaN, NaT and pandas.NA: missing values
        if label is None or not _is_itself(label):
            return BadLabel(row, None)
        return BadLabel(row, f"{shown(label)}, of type {type(label).__name__}. {_advice(label)}")
    return None


def _advice(label: Any) -> str:
    if hasattr(label, "year") and getattr(label, "tzinfo", None) is None:
        return f"{WHAT_CAN_BE}: use np.array(y, 'datetime64[s]')"
    return f"{WHAT_CAN_BE}: use texts, for instance np.array(y).astype(str)"


def check_classes(labels: np.ndarray) -> None:
    """Check that all labels can be written to a file and read again."""
    for label in labels:
        if not isinstance(label, str):
            continue
        if len(label) > LONGEST_LABEL:
            raise ValueError(
                f"a label in y is a text of {len(label):,} characters, but at most "
                f"{LONGEST_LABEL:,} are possible. Use a shorter name for the class."
            )
        if any("\ud800" <= letter <= "\udfff" for letter in label):
            raise ValueError(
                f"the label {str(label)!r} in y is not a valid text: it contains half a character "
                "(a surrogate). Read its file with the right encoding."
            )


def _is_itself(label: Any) -> bool:
    try:
        return bool(label == label)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false
        return False


# --- labels in memory -----------------------------------------------------------------------------


class Classes(NamedTuple):
    """The labels in sorted order, and the code of each row."""

    labels: np.ndarray
    codes: Int[np.ndarray, " N"]
    given: bool = False  # named by the user: then some may be absent


def label_column(y: Any) -> Any:
    """The labels as an array of a type that a model file can contain.

    Errors that scikit-learn already words well (no y, several columns) are left to it.
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
    if labels.dtype.kind == "T":  # NumPy's StringDType, unknown to scikit-learn
        labels = labels.astype(object)
    if labels.dtype.kind == "U" and isinstance(y, list | tuple):
        _check_not_mixed(y)
    bad = find_bad_label(labels)
    if bad is not None and bad.reason is not None:
        raise ValueError(f"row {bad.row} of y is {bad.reason}.")
    if bad is not None and labels.dtype.kind != "f":  # scikit-learn's error for NaN
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


def are_probabilities(y: Any) -> bool:
    """Whether these targets are soft labels: columns of numbers, at least two."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def soft_labels(y: Any, ordered: bool = False) -> tuple[Float[np.ndarray, "N C"], np.ndarray]:
    """Probabilities of classes for each row, and the classes: names of columns, or 0, 1, ...

    ordered : the order of the columns is that of the classes, and not the alphabet's.
    """
    names = getattr(y, "columns", None)
    try:
        P = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        P = np.full((1, 2), np.nan)
    off = ~(np.all(P >= 0, axis=1) & (np.abs(P.sum(axis=1) - 1.0) <= _ROUNDING))
    if off.any():
        raise ValueError(
            "y should be a 1d array of labels, or have a probability for each class in its "
            f"columns, at least 0 and with the sum 1 in each row; row {int(np.argmax(off))} does "
            "not."
        )
    classes = np.arange(P.shape[1]) if names is None else np.asarray(list(names))
    different = len(np.unique(classes)) == len(classes)
    if not different or not (ordered or list(classes) == sorted(classes)):
        raise ValueError("the columns of y, which name the classes, must be different and sorted.")
    return P / P.sum(axis=1, keepdims=True), classes


def _of_nullable(y: Any) -> np.ndarray:
    """The values of a nullable column; an error if one is missing."""
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


def codes_of(y: np.ndarray, classes: np.ndarray) -> Int[np.ndarray, " N"]:
    """The code of each label, which is known to be one of the sorted classes."""
    return np.searchsorted(classes, y).astype(np.int64)


def known_classes(y: np.ndarray, classes: Any) -> Classes:
    """Codes for labels among the classes that the user named."""
    labels = _sorted(classes)
    if len(labels) < 2:
        raise ValueError(f"classes must name two labels or more, got {listed(labels)}.")
    check_number_of_classes(labels)
    check_classes(labels)
    strange = ~np.isin(y, labels)
    if np.any(strange):
        raise ValueError(
            f"row {int(np.argmax(strange))} of y is {shown(y[strange][0])}, which is not one of "
            f"the classes {listed(labels)}."
        )
    return Classes(labels, codes_of(y, labels), given=True)


def check_same_classes(classes: Any, known: np.ndarray) -> None:
    """Check that the classes named in a later call, if any, are those of the first."""
    if classes is None:
        return
    labels = _sorted(classes)
    if not np.array_equal(labels, np.sort(known)):
        raise ValueError(
            f"classes is {listed(labels)}, but in the first call it was {listed(known)}."
        )


def _sorted(classes: Any) -> np.ndarray:
    return np.unique(np.asarray(label_column(classes)))


def check_number_of_classes(labels: np.ndarray) -> None:
    """Refuse too many different labels."""
    if len(labels) > MOST_CLASSES:
        raise ValueError(
            f"y holds {len(labels):,} different labels ({_some(labels)}), but at most "
            f"{MOST_CLASSES:,} classes are possible. Is the target a number? Then use GPRegressor."
        )


def found_classes(y: np.ndarray) -> Classes:
    """All distinct labels; raises an error for a single one, and for measurements."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: {kind}. y must hold classes, not measurements. For measurements "
            "use GPRegressor."
        )
    labels, codes = np.unique(y, return_inverse=True)
    check_number_of_classes(labels)
    if len(labels) < 2:
        raise ValueError(f"y holds 1 class ({shown(labels[0])}); two classes are needed to fit.")
    check_classes(labels)
    return Classes(labels, codes)


def order_of(y: Any) -> np.ndarray | None:
    """The categories of an ordered pandas column, from the lowest to the highest; else None."""
    dtype: Any = getattr(y, "dtype", None)
    return np.asarray(dtype.categories) if getattr(dtype, "ordered", False) else None


def ranked(found: Classes, order: np.ndarray | None) -> Classes:
    """The classes in this order, with matching codes; None: numbers in ascending order."""
    if order is None:
        check_has_order(found.labels)
        return found
    ranks = {label: rank for rank, label in enumerate(map(plain, order))}
    rank_of_code = np.argsort([ranks[plain(label)] for label in found.labels])
    new_code = np.argsort(rank_of_code)
    return Classes(found.labels[rank_of_code], new_code[found.codes], found.given)


def check_has_order(labels: np.ndarray) -> None:
    """Refuse texts, whose order is unknown."""
    if labels.dtype.kind in "OU":
        raise ValueError(
            "likelihood='ordinal' needs the order of the classes, and y holds texts "
            f"{listed(labels)}. Pass an ordered pandas column, "
            "y.astype(pd.CategoricalDtype(['low', 'middle', 'high'], ordered=True)), or numbers."
        )


def listed(labels: np.ndarray) -> str:
    """Labels for a message; only the first few of many."""
    return f"[{_some(labels, 10)}]"


def _some(labels: np.ndarray, most: int = 5) -> str:
    return ", ".join(map(shown, labels[:most])) + (", ..." if len(labels) > most else "")


# --- labels that are read in pieces ---------------------------------------------------------------


class LabelCodes:
    """The labels seen so far; at most `MOST_CLASSES`.

    The cells of a CSV are texts. Whether they are numbers, booleans or texts can only be decided
    after the whole column has been read; until then 1 and 1.0, or true and TRUE, have different
    codes.

    allowed : the only allowed labels, if they are known.
    """

    def __init__(self, target_name: str, allowed: np.ndarray | None) -> None:
        self._target_name = target_name
        self._allowed = None if allowed is None else np.unique(allowed)
        if self._allowed is not None and len(self._allowed) < 2:
            raise ValueError(f"classes must name two labels or more, not {len(self._allowed)}.")
        self._seen: list[Any] = []
        self._places: list[Place] = []  # where each was found first
        self._dtypes: list[np.dtype] = []
        self._written = False  # whether labels are cells of text, whose type is not yet known

    def codes(self, labels: np.ndarray, place: Place) -> np.ndarray:
        """Codes in order of first appearance: 0, 1, ..."""
        self._written |= place.layout.cells_are_text
        codes = np.full(len(labels), -1, np.int16)
        for code, label in enumerate(self._seen):
            codes[labels == label] = code
        while (unknown := codes < 0).any():
            row = int(np.argmax(unknown))
            label = plain(labels[row])
            self._admit(label, labels.dtype, place.row(row))
            codes[labels == label] = len(self._seen) - 1
        return codes

    def values(self) -> list[Any]:
        """The label of each code; different written forms of one label have different codes."""
        if not self._written:
            return self._seen
        if self._allowed is not None:
            return [*map(self._read_alone, self._seen, self._places)]
        from .cells import typed_labels  # imported here: needs pyarrow, which has read the cells

        values = typed_labels(self._seen, [place.layout.decimal for place in self._places])
        for value, place in zip(values, self._places, strict=True):
            if value is None:
                raise missing_value(self._target_name, place)
        return values

    def classes(self) -> np.ndarray:
        """All labels, sorted."""
        if self._allowed is not None:
            return self._allowed
        values = self.values()
        if self._written:
            values = list(dict.fromkeys(values))
        if len(values) < 2:
            raise self._only(values[0])
        typed = not self._written or isinstance(values[0], str)
        labels = np.array(sorted(values), np.result_type(*self._dtypes) if typed else None)
        check_classes(labels)
        return labels

    def order(self) -> np.ndarray:
        """The class of each code, by its number among the sorted classes; unseen ones last."""
        known = [plain(label) for label in self.classes()]
        places = [known.index(label) for label in self.values()]
        return np.array(places + [k for k in range(len(known)) if k not in places])

    def check_weights(self, class_totals: np.ndarray) -> None:
        """Check that two classes have positive weight; rows of weight zero do not count."""
        if self._allowed is None and np.count_nonzero(class_totals) < 2:
            if not class_totals.any():
                raise DataError("every row has weight 0: there is nothing to learn from.")
            raise self._only(self.classes()[int(np.argmax(class_totals))])

    def _admit(self, label: Any, dtype: np.dtype, place: Place) -> None:
        known = self._seen if self._allowed is None else list(self._allowed)
        mixed = bool(self._seen) and isinstance(label, str) != isinstance(self._seen[0], str)
        if self._allowed is not None:
            meant = self._read_alone(label, place) if self._written else label
            reason = None if meant in known else "it is none of the known labels"
        elif len(known) == MOST_CLASSES:
            raise DataError(
                f"{place}: {self._target_name} is {shown(label)}, after {len(known):,} other "
                f"labels ({_some(np.array(known))}): more than {MOST_CLASSES:,} classes. Is the "
                "target a number? GPRegressor, or --task regression, learns numbers. If not, join "
                "classes."
                f"{place.note}"
            )
        else:
            reason = "text and numbers are mixed" if mixed else None
        if reason is not None:
            others = " and ".join(map(shown, known)) if len(known) <= 3 else _some(np.array(known))
            raise DataError(
                f"{place}: {self._target_name} is {shown(label)}, but the other labels are "
                f"{others}: {reason}. Leave such rows out or join classes.{place.note}"
            )
        self._seen.append(label)
        self._places.append(place)
        self._dtypes.append(dtype)

    def _read_alone(self, text: str, place: Place) -> Any:
        """The known label that is written like this; otherwise the value of the text alone."""
        from .cells import typed_labels

        if self._allowed is not None and text in list(self._allowed):
            return text
        (value,) = typed_labels([text], [place.layout.decimal])
        return value

    def _only(self, label: Any) -> DataError:
        return DataError(
            f"{self._target_name} is {shown(label)} in every row that counts: there have to be "
            "two classes to learn the difference."
        )


# --- weights --------------------------------------------------------------------------------------


def row_weights(
    sample_weight: Any, class_weight: Any, X: np.ndarray, classes: Classes
) -> Float[np.ndarray, " N"]:
    """sample_weight times class_weight, both checked."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    check_not_negative(weights)
    totals = np.bincount(classes.codes, weights, minlength=len(classes.labels))
    weights = weights * class_factors(class_weight, classes.labels, totals)[classes.codes]
    if not classes.given and len(np.unique(classes.codes[weights > 0])) < 2:
        raise ValueError(
            "the rows with a positive weight have only one class; two classes are needed."
        )
    return weights


def check_not_negative(weights: Float[np.ndarray, " N"]) -> None:
    """Refuse negative weights; the error names a row."""
    if np.any(weights < 0):
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight must not be negative, but row {row} has {weights[row]:g}.")


def class_factors(
    class_weight: Any, labels: np.ndarray, totals: Float[np.ndarray, " C"]
) -> Float[np.ndarray, " C"]:
    """The factor of class_weight for each class, given the classes' total weights."""
    if class_weight is None:
        return np.ones(len(labels))
    if isinstance(class_weight, str) and class_weight == "balanced":
        counted = totals > 0  # a class without rows has nothing to balance
        return np.where(
            counted, totals.sum() / (counted.sum() * np.where(counted, totals, 1.0)), 1.0
        )
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    per_class = np.ones(len(labels))
    for label, factor in class_weight.items():
        named = [bool(label == known) for known in labels]  # compared, not hashed: dates have units
        if not any(named):
            raise ValueError(
                f"class_weight names {shown(label)}, but the classes in y are {listed(labels)}."
            )
        per_class[named.index(True)] = float(factor)
    if np.any(per_class < 0) or not np.all(np.isfinite(per_class)):
        raise ValueError(f"class_weight must hold non-negative numbers, got {class_weight!r}.")
    return per_class


# --- numbers that are read in pieces --------------------------------------------------------------


class NumberTargets:
    """Targets that are numbers. `encode` is the likelihood's, which may refuse some values."""

    def __init__(self, target_name: str, encode: Callable[[np.ndarray], np.ndarray]) -> None:
        self._target_name, self._encode = target_name, encode

    def encoded(self, values: np.ndarray, place: Place) -> Float[np.ndarray, " N"]:
        """The values of one block, encoded by the likelihood."""
        try:
            numbers = np.asarray(values).astype(np.float64)
        except (TypeError, ValueError):
            reason = "it is not a column of numbers. Use GPClassifier for classes."
            raise self._error(place, reason) from None
        unusable = ~(np.abs(numbers) <= LARGEST_VALUE)
        if unusable.any():
            row = int(np.argmax(unusable))
            reason = f"it is {numbers[row]:g}, and numbers up to {LARGEST_VALUE:g} can be learned."
            raise self._error(place.row(row), reason)
        try:
            return self._encode(numbers)
        except ValueError as error:
            raise self._error(place, f"counted from there, {error}") from None

    def _error(self, place: Place, reason: str) -> DataError:
        return DataError(f"{place}: {self._target_name}: {reason}{place.note}")
