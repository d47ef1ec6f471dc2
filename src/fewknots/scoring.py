"""Scores of predicted probabilities, bootstrap intervals of the scores, and reliability bins.

With p_n the predicted probability of the positive class and y_n ∈ {0, 1} the true label:

| score | formula                                          | best | says                         |
|-------|--------------------------------------------------|------|------------------------------|
| nlp   | mean of -log p(y_n)                              | 0    | nats of surprise a row       |
| brier | mean of (p_n - y_n)²                             | 0    | squared error                |
| error | share of rows with the less probable class       | 0    | wrong answers                |
| auc   | P(p of a positive row > p of a negative one)     | 1    | ranking; ties count one half |
| ece   | Σ_b n_b/N · abs(mean p - mean y), ten equal bins | 0    | calibration                  |

With C > 2 classes p has a column p_nc for each, y_n ∈ {0, ..., C-1} is the number of the true one:

| score | formula                                                                      |
|-------|------------------------------------------------------------------------------|
| nlp   | mean of -log p(y_n)                                                          |
| brier | mean of Σ_c (p_nc - [y_n = c])², in which two classes would count twice      |
| error | share of rows whose most probable class is another                           |
| ece   | classwise: the mean over c of the ece of p_nc against [y_n = c]              |

All are functions of *weighted* rows. A bootstrap resample is then only another vector of weights:
the rows are sorted once, and a resample costs O(N), or O(NC).
"""

import reprlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import ndtri

SCORES = ("nlp", "brier", "error", "auc", "ece")
MANY_CLASSES_SCORES = ("nlp", "brier", "error", "ece")
_BINS = 10
_DRAWS = 20_000_000  # rows drawn in all resamples together; they take a second or less
_FEWEST_RESAMPLES, _MOST_RESAMPLES = 200, 2000
# The smallest probability of the positive and of the negative class that p can stand for: p = 0 may
# be rounded from the smallest double, p = 1 from 1 - 2⁻⁵⁴. So a wrong row costs a finite NLP.
_LEAST = np.array([np.finfo(np.float64).smallest_subnormal, 2.0**-54])
_ROUNDING = 1e-3  # by which the probabilities of a row may differ from 1 in total


class ReliabilityBin(NamedTuple):
    """Rows with similar predictions: mean predicted probability and observed share.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> scoring.reliability(p, y, bins=1)[0].count
    4
    """

    predicted: float  # mean probability of the rows in the bin
    observed: float  # share of positive rows among them
    count: int  # type: ignore[assignment]  # hides tuple.count, which is not needed here
    low: float  # 95 % interval of the observed share (Wilson's)
    high: float


def scores(p: Any, y: Any, log_p: Any = None) -> dict[str, float | None]:
    """The five scores of probabilities p of the positive class, for labels y of 0 and 1.

    Of p with a column for each of three classes or more, and y their numbers: four scores.

    log_p : array of shape (N, C), optional
        Log probabilities of all classes (`predict_log_proba`). With them the NLP is exact also
        where a probability was rounded to 0 or 1.

    The AUC is None if all rows are of one class.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> round(scoring.scores(p, y)["nlp"], 3), scoring.scores(p, y)["error"]
    (0.338, 0.25)
    """
    rows = _rows(p, y, log_p)
    return rows.scores(np.ones(rows.losses.shape[1]))


def intervals(
    p: Any, y: Any, seed: int = 0, resamples: int = 200, level: float = 0.95, log_p: Any = None
) -> dict[str, tuple[float, float] | None]:
    """Bootstrap intervals: how much each score varies between samples of rows.

    Rows are drawn with replacement `resamples` times; the interval contains the middle `level` of
    the scores. The interval of the AUC is None if all rows are of one class.

    The classwise ECE of few rows in many bins is mostly noise, which drawing them anew adds once
    more: so its interval is moved back by the mean difference to the score.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> low, high = scoring.intervals(p, y)["nlp"]
    >>> low < scoring.scores(p, y)["nlp"] < high
    True
    """
    rows = _rows(p, y, log_p)
    rng = np.random.default_rng(seed)
    n = rows.losses.shape[1]
    drawn = []
    for _ in range(resamples):
        weights = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        drawn.append(rows.scores(weights))
    tails = [50.0 * (1.0 - level), 50.0 * (1.0 + level)]
    found: dict[str, tuple[float, float] | None] = {}
    for name in drawn[0]:
        values = [value for sample in drawn if (value := sample[name]) is not None]
        found[name] = None
        if values:
            moved = 0.0
            if name == "ece" and isinstance(rows, _ManyClasses):
                moved = float(np.mean(values)) - (rows.scores(np.ones(n))[name] or 0.0)
            low, high = np.percentile(values, tails) - moved
            found[name] = max(float(low), 0.0), float(high)
    return found


def calibration_errors(p: Any, y: Any) -> Float[np.ndarray, " C"]:
    """The calibration error of each of three classes or more; their mean is the score `ece`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.scoring import calibration_errors
    >>> p = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> calibration_errors(p, np.array([0, 1, 2])).round(2)
    array([0.13, 0.13, 0.13])
    """
    rows = _rows(p, y, None)
    assert isinstance(rows, _ManyClasses)
    return rows.calibration_errors(np.ones(rows.losses.shape[1]))


def row_nlp(p: Any, y: Any, log_p: Any = None) -> Float[np.ndarray, " N"]:
    """-log p(y) of each row; its mean is the score `nlp`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> scoring.row_nlp(p, y).round(2)
    array([0.11, 0.92, 0.22, 0.11])
    """
    return _loss(*_checked(p, y, log_p))


def difference_interval(nlp_a: Any, nlp_b: Any, seed: int = 0) -> tuple[float, float]:
    """95 % interval of mean(nlp_a - nlp_b), where both predictors are scored on the same rows.

    Percentile bootstrap of the pairs (nlp_a, nlp_b), since a row that is hard for one predictor is
    hard for the other too. An interval that contains 0 means that these rows do not show which
    predictor is better.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> low, high = scoring.difference_interval(scoring.row_nlp(p, y), np.full(4, 0.69))
    >>> low < high
    True
    """
    difference = np.asarray(nlp_a, np.float64) - np.asarray(nlp_b, np.float64)
    if difference.ndim != 1 or not len(difference):
        raise ValueError("the NLPs of two predictors must be vectors of one length, and not empty.")
    n = len(difference)
    rng = np.random.default_rng(seed)
    resamples = int(np.clip(_DRAWS // n, _FEWEST_RESAMPLES, _MOST_RESAMPLES))
    means = [np.mean(difference[rng.integers(n, size=n)]) for _ in range(resamples)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def reliability(p: Any, y: Any, bins: int = _BINS) -> list[ReliabilityBin]:
    """Rows grouped by their probability into equal parts of [0, 1]; empty parts are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import scoring
    >>> p, y = np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1])
    >>> [(part.count, round(part.observed, 2)) for part in scoring.reliability(p, y, bins=2)]
    [(2, 0.5), (2, 1.0)]
    """
    p, y, _ = _checked(p, y, None)
    part = _bin_of(p, bins)
    found = []
    for number in np.unique(part):
        inside = part == number
        count = int(inside.sum())
        observed = float(y[inside].mean())
        low, high = wilson(observed, count)
        found.append(ReliabilityBin(float(p[inside].mean()), observed, count, low, high))
    return found


def wilson(share: float, count: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a probability π, from the share of successes in `count` trials.

    It solves |share - π| = z √(π(1-π)/count) for π. So it stays inside [0, 1], and has a width also
    where the share is 0 or 1.

    Examples
    --------
    >>> from fewknots.scoring import wilson
    >>> [round(end, 2) for end in wilson(0.0, 20)]
    [0.0, 0.16]
    """
    z2 = float(ndtri(0.5 * (1.0 + level))) ** 2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = np.sqrt(z2 * share * (1 - share) / count + (z2 / (2 * count)) ** 2) / (1 + z2 / count)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


class _TwoClasses(NamedTuple):
    """Rows in ascending order of p, with the contribution of each row to the scores."""

    p: Float[np.ndarray, " N"]
    y: Float[np.ndarray, " N"]
    losses: Float[np.ndarray, "3 N"]  # -log p(y), squared error, wrong answer
    ties: Int[np.ndarray, " T"]  # where each run of equal probabilities begins
    bins: Int[np.ndarray, " B"]  # where each calibration bin begins

    def scores(self, weights: Float[np.ndarray, " N"]) -> dict[str, float | None]:
        """The scores of weighted rows."""
        total = weights.sum()
        positive = weights * self.y
        nlp, brier, error = self.losses @ weights / total
        gaps = np.add.reduceat(weights * self.p - positive, self.bins)
        return {
            "nlp": float(nlp),
            "brier": float(brier),
            "error": float(error),
            "auc": _auc(
                np.add.reduceat(positive, self.ties), np.add.reduceat(weights - positive, self.ties)
            ),
            "ece": float(np.abs(gaps).sum() / total),
        }


class _ManyClasses(NamedTuple):
    """The contribution of each row to the scores."""

    losses: Float[np.ndarray, "3 N"]
    gaps: csr_array  # N x (bins of all classes): p_nc - [y_n = c] in the bin of p_nc, 0 elsewhere
    n_classes: int

    def scores(self, weights: Float[np.ndarray, " N"]) -> dict[str, float | None]:
        """The scores of weighted rows."""
        losses = self.losses @ weights / weights.sum()
        found = (*losses, self.calibration_errors(weights).mean())
        return dict(zip(MANY_CLASSES_SCORES, map(float, found), strict=True))

    def calibration_errors(self, weights: Float[np.ndarray, " N"]) -> Float[np.ndarray, " C"]:
        """The calibration error of each class."""
        gaps = np.abs(weights @ self.gaps).reshape(self.n_classes, _BINS)
        return gaps.sum(axis=1) / weights.sum()


def _rows(p: Any, y: Any, log_p: Any) -> _TwoClasses | _ManyClasses:
    p, y, log_p = _checked(p, y, log_p)
    loss = _loss(p, y, log_p)
    if p.ndim == 2:
        return _of_many_classes(p, y, loss)
    order = np.argsort(p, kind="stable")
    p, y, loss = p[order], y[order], loss[order]
    wrong = (p > 0.5) != (y > 0.5)  # p = 0.5 counts as negative, as in `predict`
    return _TwoClasses(
        p,
        y,
        np.stack([loss, np.square(p - y), wrong]),
        _beginnings(p),
        _beginnings(_bin_of(p, _BINS)),
    )


def _of_many_classes(
    p: Float[np.ndarray, "N C"], y: Int[np.ndarray, " N"], loss: Float[np.ndarray, " N"]
) -> _ManyClasses:
    n, n_classes = p.shape
    gaps = p.copy()
    gaps[np.arange(n), y] -= 1.0
    brier, wrong = np.square(gaps).sum(axis=1), np.argmax(p, axis=1) != y
    bins = _bin_of(p, _BINS) + _BINS * np.arange(n_classes)
    in_bins = csr_array(
        (gaps.ravel(), bins.ravel(), np.arange(0, gaps.size + 1, n_classes)),
        shape=(n, _BINS * n_classes),
    )
    return _ManyClasses(np.stack([loss, brier, wrong]), in_bins, n_classes)


def _auc(positive: np.ndarray, negative: np.ndarray) -> float | None:
    """AUC from the total weight of each class at each distinct p, in ascending order of p."""
    pairs = positive.sum() * negative.sum()
    if pairs == 0:
        return None
    below = np.cumsum(negative) - 0.5 * negative
    return float(positive @ below / pairs)


def _loss(p: np.ndarray, y: np.ndarray, log_p: np.ndarray | None) -> np.ndarray:
    """-log p(y) of each row."""
    if p.ndim == 2:
        own = (p if log_p is None else log_p)[np.arange(len(y)), y]
        return -np.log(np.maximum(own, _LEAST[0])) if log_p is None else -own
    if log_p is not None:
        return -np.where(y == 1, log_p[:, 1], log_p[:, 0])
    return -np.log(np.where(y == 1, np.maximum(p, _LEAST[0]), np.maximum(1.0 - p, _LEAST[1])))


def _bin_of(p: np.ndarray, bins: int) -> np.ndarray:
    return np.minimum((p * bins).astype(int), bins - 1)


def _beginnings(ascending: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.concatenate([[True], np.diff(ascending) != 0]))


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        given = reprlib.repr(np.asarray(values, object).tolist())
        raise TypeError(
            f"{name} must hold numbers, got {given}. p is the probability of the positive class, "
            "predict_proba(X)[:, 1]; y is 1 for that class and 0 otherwise: y == model.classes_[1]."
        ) from None


def _checked(p: Any, y: Any, log_p: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    p, y = _numbers("p", p), _numbers("y", y)
    many = p.ndim == 2 and p.shape[1] > 2
    if (p.ndim != 1 and not many) or p.shape[:1] != y.shape:
        raise ValueError(
            f"p and y must be vectors of one length, got shapes {p.shape} and {y.shape}. p is the "
            "probability of the positive class, predict_proba(X)[:, 1], or of three classes or "
            "more all of predict_proba(X)."
        )
    if not len(p):
        raise ValueError("there are no rows to score.")
    _check_each((p >= 0) & (p <= 1), p, "p", ", not a probability between 0 and 1.")
    if many:
        total = p.sum(axis=1)
        one = np.abs(total - 1.0) <= _ROUNDING
        _check_each(one, total, "the sum of p", ", but a row's probabilities sum to 1.")
        classes = np.arange(p.shape[1])
        known = "; y must be the number of a class, from 0 on, as in the columns of p."
        _check_each(np.isin(y, classes), y, "y", known)
        y = y.astype(np.int64)
    else:
        known = "; y must be 1 for the positive class and 0 else."
        _check_each((y == 0) | (y == 1), y, "y", known)
    if log_p is None:
        return p, y, None
    log_p = np.asarray(log_p, np.float64)
    shape = p.shape if many else (len(p), 2)
    if log_p.shape != shape:
        raise ValueError(f"log_p must have the shape {shape}, got {log_p.shape}.")
    return p, y, log_p


def _check_each(good: np.ndarray, values: np.ndarray, name: str, what: str) -> None:
    """Raise an error about the first value that is not good."""
    if not np.all(good):
        place = tuple(map(int, np.argwhere(~good)[0]))
        shown = ", ".join(map(str, place))
        raise ValueError(f"{name}[{shown}] is {values[place]:g}{what}")
