"""The data for all sections of the report, computed once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data.row_draw import some_rows
from ..explain import Importance, Input, UnnamedRows, importance, inputs_of, without_names
from ..explain.labels import places_of
from ..explain.log_odds import deviation_of_probability
from ..explain.unnamed_rows import check_kind, check_rows
from .comparison import Comparison, compare_with_best
from .labels import IN_A_CELL, IN_A_SENTENCE, shortened

_LATENT_ROWS = 20_000  # rows for which the latent function is computed
UNKNOWN_ROWS = "It cannot be known here whether the model learned from these rows."

RowNames = Callable[[list[int]], list[str]]


class Evidence(NamedTuple):
    """A classifier, rows to score it on, and its predictions for them."""

    rows: UnnamedRows
    y: Int[np.ndarray, " N"]  # place of the label in `classes_`: of two, 1 for the positive one
    log_p: Float[np.ndarray, "N C"]
    latent_rows: Int[np.ndarray, " n"]  # indices of the rows for `variance`
    variance: Float[np.ndarray, " n"]  # of the latent function; of several, the mean
    doubt: Float[np.ndarray, " n"]  # the same; with many classes, as `doubt_about` computes it
    baselines: dict[str, Float[np.ndarray, "N ..."]]  # of the positive class, or of each of many
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
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classifier.classes_)

    @property
    def p(self) -> Float[np.ndarray, " N"]:
        """Probability of the positive one of two classes."""
        return np.exp(self.log_p[:, 1])

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes as text, of two the positive one last; long texts are shortened."""
        return tuple(shortened(name, IN_A_SENTENCE) for name in self.classifier.classes_)

    @property
    def named_labels(self) -> tuple[str, ...]:
        """The classes for a legend: "late = yes", or "class yes"."""
        target = self.about.get("target")
        before = "class " if target is None else f"{shortened(target, IN_A_CELL)} = "
        return tuple(before + name for name in self.labels)

    @property
    def order(self) -> list[int]:
        """The user's columns by descending importance."""
        return self.importance.order

    @property
    def checked_on(self) -> str:
        """A sentence about the origin of these rows, if it is known."""
        return str(self.about.get("checked_on") or UNKNOWN_ROWS)

    @property
    def answer(self) -> Int[np.ndarray, " N"]:
        """Place of the most probable class of each row in `classes_`."""
        return (self.p > 0.5).astype(int) if self.n_classes == 2 else self.log_p.argmax(axis=1)

    @property
    def wrong(self) -> Bool[np.ndarray, " N"]:
        """Which rows are predicted wrongly."""
        return self.answer != self.y

    @property
    def counts(self) -> Int[np.ndarray, " C"]:
        """How many rows have each label."""
        return np.bincount(self.y, minlength=self.n_classes)

    def doubt_about(self, rows: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The model's uncertainty about rows.

        With two classes this is the latent variance. With many it is the standard deviation of the
        answer's probability: the functions have the largest variance where a class is certain.
        """
        _, doubt = _latent(self.classifier, self.rows.X[rows], self.log_p[rows])
        return doubt


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
    truth = places_of(classifier.classes_, y, len(rows.X))
    if raw is not None and len(raw) != len(rows.X):
        raise ValueError(f"rows has {len(raw)} rows, X has {len(rows.X)}: they must be the same.")
    inputs = inputs_of(rows, recipe)
    log_p = rows.classifier.predict_log_proba(rows.X)
    some = np.sort(some_rows(len(rows.X), _LATENT_ROWS))
    variance, doubt = _latent(rows.classifier, rows.X[some], log_p[some])
    others = {} if baselines is None else baselines.probabilities(rows.X)
    others = {name: _baseline(name, p, log_p.shape) for name, p in others.items()}
    return Evidence(
        rows,
        truth,
        log_p,
        some,
        variance,
        doubt,
        others,
        compare_with_best(log_p, truth, others),
        inputs,
        importance(rows, np.asarray(classifier.classes_)[truth], inputs),
        raw,
        about or {},
        row_names,
    )


def _latent(
    classifier: Any, X: Float[np.ndarray, "n D"], log_p: Float[np.ndarray, "n C"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Latent variance and doubt."""
    mean, variance = classifier.predict_latent(X)
    if variance.ndim == 1:
        return variance, variance
    average = variance.mean(axis=1)
    if log_p.shape[1] == 2:
        return average, average
    best, probit = log_p.argmax(axis=1), classifier._likelihood.largest_leads
    return average, deviation_of_probability(mean, variance, best, probit)


def _baseline(name: str, p: Any, shape: tuple[int, int]) -> np.ndarray:
    """Probabilities of a baseline: of the positive class, or a column for each of many classes."""
    p = np.asarray(p, np.float64)
    wanted = shape[:1] if shape[1] == 2 else shape
    if p.shape != wanted:
        raise ValueError(
            f"the probabilities of the baseline {name!r} have the shape {p.shape}; for "
            f"{shape[0]} rows and {shape[1]} classes it must be {wanted}."
        )
    return p
