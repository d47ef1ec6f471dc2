"""The data for all sections of the report, computed once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data.row_draw import some_rows
from ..explain import Importance, Input, UnnamedRows, importance, inputs_of, without_names
from ..explain.unnamed_rows import check_kind, check_rows
from .comparison import Comparison, compare_with_best
from .labels import IN_A_CELL, IN_A_SENTENCE, shortened

_LATENT_ROWS = 20_000  # rows for which the latent function is computed
_UNKNOWN_ROWS = "It cannot be known here whether the model learned from these rows."

RowNames = Callable[[list[int]], list[str]]


class Evidence(NamedTuple):
    """A classifier, rows to score it on, and its predictions for them."""

    rows: UnnamedRows
    y: Int[np.ndarray, " N"]  # 1 for the positive class
    p: Float[np.ndarray, " N"]  # of the positive class
    log_p: Float[np.ndarray, "N 2"]
    latent_rows: Int[np.ndarray, " n"]  # indices of the rows for `mean` and `variance`
    mean: Float[np.ndarray, " n"]
    variance: Float[np.ndarray, " n"]
    baselines: dict[str, Float[np.ndarray, " N"]]
    against: Comparison | None
    inputs: tuple[Input, ...]  # the user's columns
    importance: Importance  # of each
    raw: Any  # pyarrow table of the same rows before encoding, or None
    about: Mapping[str, Any]
    row_names: RowNames | None

    @property
    def classifier(self) -> Any:
        """The classifier, without column names: it predicts for arrays."""
        return self.rows.classifier

    @property
    def labels(self) -> tuple[str, str]:
        """The two classes as text, the positive one last; long texts are shortened."""
        negative, positive = self.classifier.classes_
        return shortened(negative, IN_A_SENTENCE), shortened(positive, IN_A_SENTENCE)

    @property
    def named_labels(self) -> tuple[str, str]:
        """The two classes for a legend: "late = yes", or "class yes"."""
        target = self.about.get("target")
        before = "class " if target is None else f"{shortened(target, IN_A_CELL)} = "
        negative, positive = self.labels
        return before + negative, before + positive

    @property
    def order(self) -> list[int]:
        """The user's columns by descending importance."""
        return self.importance.order

    @property
    def checked_on(self) -> str:
        """A sentence about the origin of these rows, if it is known."""
        return str(self.about.get("checked_on") or _UNKNOWN_ROWS)

    @property
    def wrong(self) -> Bool[np.ndarray, " N"]:
        """Which rows are predicted wrongly."""
        return (self.p > 0.5) != (self.y == 1)


def gather(
    classifier: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[object] | None,
    recipe: Any,
    baselines: Any,
    raw: Any,
    about: Mapping[str, Any] | None,
    row_names: RowNames | None,
) -> Evidence:
    """Predict for all rows, and compute the latent function for some thousands of them."""
    check_kind(classifier)
    rows = without_names(classifier, X, feature_names)
    check_rows(rows)
    truth = _positive(classifier.classes_, y, len(rows.X))
    if raw is not None and len(raw) != len(rows.X):
        raise ValueError(f"rows has {len(raw)} rows, X has {len(rows.X)}: they must be the same.")
    inputs = inputs_of(rows, recipe)
    log_p = rows.classifier.predict_log_proba(rows.X)
    some = np.sort(some_rows(len(rows.X), _LATENT_ROWS))
    mean, variance = rows.classifier.predict_latent(rows.X[some])
    others = {} if baselines is None else baselines.probabilities(rows.X)
    others = {name: np.asarray(p, np.float64) for name, p in others.items()}
    return Evidence(
        rows,
        truth,
        np.exp(log_p[:, 1]),
        log_p,
        some,
        mean,
        variance,
        others,
        compare_with_best(log_p, truth, others),
        inputs,
        importance(rows, truth, inputs),
        raw,
        about or {},
        row_names,
    )


def _positive(classes: np.ndarray, y: Any, n_rows: int) -> np.ndarray:
    """1 where the label is `classes[1]`; a label that is neither class is an error."""
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have one label for each of {n_rows} rows, got shape {y.shape}.")
    positive, negative = y == classes[1], y == classes[0]
    known = positive | negative
    if not np.all(known):
        row = int(np.argmin(known))
        raise ValueError(
            f"the label of row {row} is {y.tolist()[row]!r}, but the classifier knows "
            f"{' and '.join(map(repr, classes.tolist()))}. (Rows are counted from 0.)"
        )
    return positive.astype(np.int64)
