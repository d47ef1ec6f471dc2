r"""Effect of one column on the prediction, with the other columns unchanged (partial dependence).

For each value v of a column, all rows of a sample get this value, encoded by the recipe, and the
predicted probabilities are averaged over these rows. The band is the mean of the rows' own 95 %
bands, from the latent function at μ ± 1.96 σ. As the standard deviation of a mean is at most the
mean of the standard deviations, the band is not too narrow.

With a latent function for each class, the band of a class is that of its log odds (log_odds.py).

A number has a curve over its range, a text or a boolean has one value for each level. Dates are in
calendar.py.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtr
from sklearn.base import is_classifier

from .inputs import Input, input_named, single_feature
from .log_odds import log_odds, probits
from .unnamed_rows import UnnamedRows, check_rows

_ROWS, _FEWEST_ROWS = 100, 20  # number of rows in an average; fewer with many classes
POINTS = 40  # along the curve
_FEW = 8  # up to so many distinct values are shown separately
_MOST_LEVELS = 15
_LINKS = {"probit": ndtr, "logit": expit}
_WIDTH = 1.96
MISSING, OTHER = "(missing)", "(other)"


class Band(NamedTuple):
    """The mean probability for each value, and the model's 95 % band; for many classes, of each."""

    probability: Float[np.ndarray, "V ..."]
    low: Float[np.ndarray, "V ..."]
    high: Float[np.ndarray, "V ..."]


class Effect(NamedTuple):
    """The curve of one column: of `classes_[1]`, or with more than two classes, of each class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.effect(rows, 1).name
    'x1'
    """

    name: str
    kind: str  # "number", "boolean", "ordered", "date", "hour" (of the day) or "text"
    values: Float[np.ndarray, " V"]  # numbers, days since 1970, or the numbers of the levels
    probability: Float[np.ndarray, "V ..."]
    low: Float[np.ndarray, "V ..."]
    high: Float[np.ndarray, "V ..."]
    separate: bool  # True: `values` are all distinct values; False: points of a curve
    labels: tuple[str, ...] = ()  # of the values of a text or boolean, in order
    missing: tuple[Any, Any, Any] | None = None  # probability, low, high if it is missing
    left_out: int = 0  # number of levels that are not shown (the rarest)

    @property
    def span(self) -> float:
        """Difference between the highest and the lowest point of the curve, or the longest one."""
        return float(np.ptp(self.probability, axis=0).max())

    def classes_to_show(self, most: int = 6) -> list[int]:
        """The numbers of the classes that change most along the column, in ascending order."""
        spans = np.ptp(self.probability, axis=0)
        return sorted(int(c) for c in np.argsort(-spans, kind="stable")[:most])


def effect(rows: UnnamedRows, column: Input | int | str) -> Effect:
    """The mean probability and its band, along a column.

    It is that of `classes_[1]`; with more than two classes, there is a column for each. Of a
    regressor it is the mean of y, in its units.

    column : the name of a column, an `Input`, or the number of a feature. (A text or a date becomes
        several features, so behind it their numbers are not those of the table's columns.)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> curve = explain.effect(rows, "x0")
    >>> bool(curve.probability[0] < curve.probability[-1])
    True
    """
    check_rows(rows, classifier=False)
    if isinstance(column, str):
        one = input_named(rows, column)
    else:
        one = single_feature(rows, column) if isinstance(column, int) else column
    if one.kind == "text":
        return _of_text(rows, one)
    if one.kind == "boolean":
        return _of_boolean(rows, one)
    if one.kind == "ordered":
        return _of_ordered(rows, one)
    if one.kind == "date":
        from .calendar import over_the_calendar

        return over_the_calendar(rows, one)
    return _of_number(rows, one)


def averaged(rows: UnnamedRows, one: Input, made_up: Float[np.ndarray, "V n F"]) -> Band:
    """For each value, the mean over at most 100 rows that get these features (`rows_to_average`).

    made_up : features of each value; n is the number of rows, or 1 if all rows get the same.
    """
    sample = rows_to_average(rows)
    X = np.repeat(sample[None], len(made_up), axis=0)
    X[:, :, one.features] = made_up
    X = X.reshape(-1, sample.shape[1])
    return Band(
        *(
            q.reshape(len(made_up), -1, *q.shape[1:]).mean(axis=1)
            for q in _with_band(rows.classifier, X)
        )
    )


def rows_to_average(rows: UnnamedRows) -> Float[np.ndarray, "n D"]:
    """A hundred rows; fewer if a prediction takes long, as with a hundred classes."""
    return rows.sample(max(_ROWS // rows.price, _FEWEST_ROWS))


def _with_band(classifier: Any, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
    """The probability of each row and its 95 % band: (N,), or (N, C) with more than two classes.

    Of a regressor the mean of y, and its mean where f is at either end of its own 95 % band.
    """
    if not is_classifier(classifier):
        return classifier._with_doubt(X, _WIDTH)
    probability = classifier.predict_proba(X)
    mean, variance = classifier.predict_latent(X)
    if mean.ndim == 1:
        link = _LINKS[classifier._likelihood.link]
    else:
        probit = classifier._likelihood.largest_leads
        link, of_one = (_LINKS["probit"], probits) if probit else (expit, log_odds)
        of_class = [of_one(mean, variance, np.full(len(X), c)) for c in range(mean.shape[1])]
        mean, variance = (np.stack(q, axis=1) for q in zip(*of_class, strict=True))
    width = _WIDTH * np.sqrt(variance)
    found = probability, link(mean - width), link(mean + width)
    if probability.shape[1] > 2:
        return found
    return tuple(q if q.ndim == 1 else q[:, 1] for q in found)


def where_missing(rows: UnnamedRows, one: Input, null: Any) -> tuple[Any, Any, Any] | None:
    """The prediction where the column is missing; `null` is an array of one missing value."""
    if not one.can_be_missing:
        return None
    band = averaged(rows, one, one.encoded(null)[:, None])
    return band.probability[0], band.low[0], band.high[0]


def _of_number(rows: UnnamedRows, one: Input) -> Effect:
    numbers = rows.X[one.present(rows.X), one.features.start]
    if not len(numbers):  # none of these rows has a value
        numbers = rows.X[:, one.features.start]
    distinct = np.unique(numbers)
    separate = len(distinct) <= _FEW
    if separate:
        values = distinct
    else:  # without the outer hundredths: one far value would compress the rest of the curve
        low, high = np.quantile(numbers, [0.01, 0.99])
        values = np.linspace(low, high, POINTS)
    if one.column is None:
        return Effect(
            one.name, "number", values, *averaged(rows, one, values[:, None, None]), separate
        )
    band = averaged(rows, one, one.encoded(values)[:, None])
    missing = where_missing(rows, one, np.array([np.nan]))
    return Effect(one.name, "number", values, *band, separate, missing=missing)


def _of_boolean(rows: UnnamedRows, one: Input) -> Effect:
    known, labels = [0.0, 1.0], ["no", "yes"]
    if one.can_be_missing:
        known.append(np.nan)
        labels.append(MISSING)
    band = averaged(rows, one, one.encoded(np.array(known))[:, None])
    return Effect(
        one.name, "boolean", np.arange(float(len(known))), *band, True, labels=tuple(labels)
    )


def _of_ordered(rows: UnnamedRows, one: Input) -> Effect:
    """The levels in their order; of very many, some of them."""
    import pyarrow as pa

    levels = one.column.levels
    kept = np.unique(np.linspace(0, len(levels) - 1, _MOST_LEVELS).round().astype(int))
    labels: list[str | None] = [levels[number] for number in kept]
    if one.can_be_missing:
        labels.append(None)
    band = averaged(rows, one, one.encoded(pa.array(labels, pa.large_string()))[:, None])
    return Effect(
        one.name,
        "ordered",
        np.arange(float(len(labels))),
        *band,
        True,
        labels=tuple(MISSING if label is None else label for label in labels),
        left_out=len(levels) - len(kept),
    )


def _of_text(rows: UnnamedRows, one: Input) -> Effect:
    """The most frequent levels; "(other)" means the levels that the recipe pools."""
    import pyarrow as pa

    levels = list(one.column.levels)
    shown = [level or MISSING for level in levels]
    if one.column.pooled:
        # a text that is different from all levels
        levels.append("".join(levels) + OTHER)
        shown.append(OTHER)
    counts = rows.X[:, one.features].sum(axis=0)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    band = averaged(rows, one, one.encoded(pa.array([levels[i] for i in kept]))[:, None])
    return Effect(
        one.name,
        "text",
        np.arange(float(len(kept))),
        *band,
        True,
        labels=tuple(shown[i] for i in kept),
        left_out=len(levels) - len(kept),
    )
