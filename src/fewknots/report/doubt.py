"""Uncertainty: latent variance against distance, and rows that were confidently wrong."""

import numpy as np

from ..data.row_draw import some_rows
from ..explain import distance_to_points
from ..markup import Markup, element
from ..numerics.precision import computing_in
from ..scoring import wilson
from .axes import Axes, figure, key, labelled, spread
from .evidence import Evidence
from .numbers import counted, percent, short
from .row_values import row_values
from .tables import table

_MOST_DOTS = 1500
_LISTED = 10
_GROUPS = 8
DOUBT_ABOUT_MANY = (
    "Every class has a latent function; the latent variance of a row is the mean over them. It can "
    "be large even if a class is certain. So doubt here is the standard deviation of the answer's "
    "probability, from the model's uncertainty about f."
)


def variance_by_distance(evidence: Evidence) -> Markup:
    """The variance of the latent function against the distance to the nearest inducing point."""
    some = np.sort(some_rows(len(evidence.latent_rows), _MOST_DOTS))
    rows, variance = evidence.latent_rows[some], evidence.variance[some]
    X = evidence.rows.X[rows]
    distance = distance_to_points(evidence.classifier, X)
    before = _prior_variance(evidence, X)
    wrong = evidence.wrong[rows]
    axes = Axes(
        (0.0, spread(distance)[1]),
        (0.0, spread(variance, [before])[1]),
        x_name=f"distance to the nearest point, in {_unit(evidence)}",
        y_name="latent variance",
        height=300.0,
    )
    axes.line([0.0, axes.x.high], [before, before], "reference")
    axes.many_dots(distance[~wrong], variance[~wrong], "negative")
    axes.many_dots(distance[wrong], variance[wrong], "positive")
    near = distance <= np.median(distance)
    close = float(variance[near].mean())
    far = float(variance[~near].mean()) if (~near).any() else None
    alternative = (
        f"Latent variance of {counted(len(rows), 'row')} against their distance to the nearest "
        f"point. The nearer half has a mean variance of {short(close, 3)}, the farther "
        f"half {short(far, 3)}; before seeing labels it was {short(before, 3)}."
    )
    caption = (
        "Far from its points the model is less certain. Dashed: the "
        f"variance before any label was seen, {short(before, 3)}. "
        + _how_many(len(rows), len(evidence.y))
    )
    return figure(
        axes.svg(alternative),
        caption,
        key(("positive", "answered wrongly"), ("negative", "rightly")),
    )


def errors_by_variance(evidence: Evidence) -> Markup:
    """The share of wrong answers in groups of rows, by ascending doubt."""
    wrong = evidence.wrong[evidence.latent_rows][np.argsort(evidence.doubt, kind="stable")]
    measure = _measure(evidence).lower()
    groups = np.array_split(wrong, min(_GROUPS, len(wrong)))
    shares = [float(group.mean()) for group in groups]
    around = np.array([wilson(s, len(g)) for s, g in zip(shares, groups, strict=True)])
    places = np.arange(1.0, len(groups) + 1.0)
    axes = Axes(
        (0.5, len(groups) + 0.5),
        (0.0, spread(around)[1]),
        x_name=f"rows in equal groups, by {measure}",
        y_name="share answered wrongly",
        height=300.0,
        x_ticks=labelled(list(places)),
    )
    for place, share, group in zip(places, shares, groups, strict=True):
        tooltip = f"group {place:.0f}: {percent(share)} of {counted(len(group), 'row')} wrong"
        axes.box(place - 0.35, place + 0.35, 0.0, share, "positive", tooltip)
    axes.whiskers(places, around[:, 0], around[:, 1], "ink")
    listed = ", ".join(percent(share) for share in shares)
    alternative = f"Wrong answers in groups of rows, by rising {measure}: {listed}."
    caption = (
        "Wrong answers among rows the model knows well (left) and badly (right), with 95 % "
        "intervals."
    )
    return figure(axes.svg(alternative), caption)


def least_known(evidence: Evidence) -> Markup:
    """The rows with the greatest doubt."""
    most = evidence.latent_rows[np.argsort(-evidence.doubt, kind="stable")[:_LISTED]]
    return _listed(evidence, most, "Rows the model knows least about")


def least_decided(evidence: Evidence) -> Markup:
    """The rows whose probabilities are spread over the most classes: of the greatest entropy."""
    entropy = -np.sum(np.exp(evidence.log_p) * evidence.log_p, axis=1)
    most = np.argsort(-entropy, kind="stable")[:_LISTED]
    return _listed(evidence, most, "Rows whose probabilities are spread most evenly")


def confidently_wrong(evidence: Evidence) -> Markup:
    """The rows that were answered wrongly with the most extreme probabilities."""
    wrong = np.flatnonzero(evidence.wrong)
    if not len(wrong):
        return element("p", "No row was answered wrongly.")
    sure = np.abs(evidence.p - 0.5) if evidence.n_classes == 2 else evidence.log_p.max(axis=1)
    most = wrong[np.argsort(-sure[wrong], kind="stable")[:_LISTED]]
    return _listed(evidence, most, "Rows most confidently wrong")


def _listed(evidence: Evidence, rows: np.ndarray, caption: str) -> Markup:
    doubt = evidence.doubt_about(rows)
    names, values, left_out = row_values(evidence, rows)
    if left_out:
        caption += f", with the {len(names)} columns that matter most"
    if evidence.n_classes == 2:
        columns = [f"P({evidence.labels[1]})", "Label"]
    else:
        columns = ["Answer", "P(answer)", "Label", "P(label)"]
    header = ["Row", *columns, _measure(evidence), *names]
    numbers = [int(row) for row in rows]
    called = numbers if evidence.row_names is None else evidence.row_names(numbers)
    lines = [
        [name, *_prediction_cells(evidence, row), float(v), *of_row]
        for name, row, v, of_row in zip(called, rows, doubt, values, strict=True)
    ]
    return table(caption, header, lines)


def _measure(evidence: Evidence) -> str:
    return "Latent variance" if evidence.n_classes == 2 else "Doubt"


def _prediction_cells(evidence: Evidence, row: int | np.integer) -> list[object]:
    """The prediction for a row, and its label."""
    label = evidence.labels[evidence.y[row]]
    if evidence.n_classes == 2:
        return [float(evidence.p[row]), label]
    p, answer = np.exp(evidence.log_p[row]), int(evidence.answer[row])
    return [evidence.labels[answer], float(p[answer]), label, float(p[evidence.y[row]])]


def _prior_variance(evidence: Evidence, X: np.ndarray) -> float:
    """The mean of k(x, x)."""
    with computing_in(np.dtype(np.float64)):
        Z = evidence.classifier._standardiser(X)
        return float(np.mean(np.asarray(evidence.classifier.kernel_.diagonal(Z))))


def _unit(evidence: Evidence) -> str:
    parts = evidence.classifier.kernel_.parts()
    has_lengthscale = any(part.input_scale() is not None for part in parts)
    return "lengthscales" if has_lengthscale else "standard deviations"


def _how_many(shown: int, rows: int) -> str:
    if shown == rows:
        return "All checked rows are shown."
    return f"Shown: {shown:,} of {rows:,} rows, drawn at random."
