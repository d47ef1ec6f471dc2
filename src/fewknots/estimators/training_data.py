"""From what the user passes to `fit` to clean arrays: weights and inducing points."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import _check_sample_weight

from .. import inducing
from ..data.label_values import shown
from ..data.standardise import Standardiser
from ..exceptions import InputWarning, warn
from ..kernels import Kernel
from .labels import TwoClasses, listed
from .stored_rows import check_points_are_no_rows

_FEW_ROWS = 20_000


def row_weights(
    sample_weight: Any, class_weight: Any, X: np.ndarray, classes: TwoClasses
) -> Float[np.ndarray, " N"]:
    """sample_weight times class_weight, both checked."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    check_not_negative(weights)
    codes = (classes.signs > 0).astype(int)
    totals = np.bincount(codes, weights, minlength=2)
    weights = weights * class_factors(class_weight, classes.labels, totals)[codes]
    positive = weights > 0
    if not classes.given and len(np.unique(classes.signs[positive])) < 2:
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


def starting_points(
    inducing_points: Any,
    n_inducing: Any,
    method: str,
    standardiser: Standardiser,
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    weights: Float[np.ndarray, " N"],
    rng: np.random.RandomState,
    n_rows: int | None = None,
    on_rows: bool = True,
) -> Float[np.ndarray, "M D"]:
    """Where the inducing points start: the user's, brought to X's units, or chosen from X.

    n_rows : how many rows there are if X is only a sample of them.
    on_rows : whether they may be rows of X.
    """
    if inducing_points is not None:
        Z = np.asarray(inducing_points, np.float64)
        if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
            raise ValueError(
                f"inducing_points must have shape (M, {X.shape[1]}), one column per feature of X, "
                f"got {Z.shape}."
            )
        if not np.all(np.isfinite(Z)):
            raise ValueError("inducing_points holds NaN or infinity.")
        Z = standardiser(Z)
        if not on_rows:
            check_points_are_no_rows(Z, X)
        return Z
    # Among many rows there are enough distinct ones, and sorting them would take long.
    whole = len(X) if n_rows is None else n_rows
    distinct = np.unique(X, axis=0) if whole <= _FEW_ROWS else X
    if n_inducing == "auto":
        rows = len(distinct) if n_rows is None else n_rows
        count = min(inducing.automatic_count(rows), len(distinct))
    else:
        count = int(n_inducing)
        if count > len(distinct):
            warn(
                f"n_inducing={count} is more than the {len(distinct)} distinct rows of X; "
                f"using {len(distinct)}.",
                InputWarning,
            )
            count = len(distinct)
    if count == len(distinct):
        chosen = distinct
    else:
        chosen = inducing.choose(method, kernel, X, weights, count, rng)
    return chosen if on_rows else inducing.displaced(chosen, X, rng)
