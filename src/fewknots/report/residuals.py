"""Errors of a model of numbers: against the prediction, against predicted deviations, and the
largest.
"""

import numpy as np

from ..data.row_draw import some_rows
from ..markup import Markup
from .axes import Axes, figure, labelled, spread
from .number_evidence import NumberEvidence
from .numbers import counted, short
from .row_values import row_values
from .tables import table

_MOST_DOTS = 1500
_LISTED = 10
_GROUPS = 8


def by_prediction(evidence: NumberEvidence) -> Markup:
    """The errors of rows against the predictions."""
    some = np.sort(some_rows(len(evidence.y), _MOST_DOTS))
    predicted, error = evidence.seen.mean[some], (evidence.y - evidence.seen.mean)[some]
    axes = Axes(
        spread(predicted),
        spread(error, [0.0]),
        x_name="predicted",
        y_name="true less predicted",
        height=300.0,
    )
    axes.line([axes.x.low, axes.x.high], [0.0, 0.0], "reference")
    axes.many_dots(predicted, error, "negative")
    half = predicted <= np.median(predicted)
    below, above = float(error[half].mean()), float(error[~half].mean()) if (~half).any() else 0.0
    alternative = (
        f"Errors of {counted(len(some), 'row')} against the prediction. Their mean is "
        f"{short(below, 3)} for the lower half of the predictions and {short(above, 3)} for the "
        "upper half."
    )
    caption = (
        "A cloud that bends or widens shows that the likelihood or the kernel does not fit. "
        f"Shown: {len(some):,} of {len(evidence.y):,} rows."
    )
    return figure(axes.svg(alternative), caption)


def by_doubt(evidence: NumberEvidence) -> Markup:
    """Root mean square error in groups of rows, by rising predicted deviation."""
    order = np.argsort(evidence.seen.deviation, kind="stable")
    groups = np.array_split(order, min(_GROUPS, len(order)))
    error = np.square(evidence.y - evidence.seen.mean)
    found = np.array([np.sqrt(error[group].mean()) for group in groups])
    predicted = np.array([np.sqrt(np.square(evidence.seen.deviation[g]).mean()) for g in groups])
    places = np.arange(1.0, len(groups) + 1.0)
    axes = Axes(
        (0.5, len(groups) + 0.5),
        (0.0, spread(found, predicted)[1]),
        x_name="rows in equal groups, by predicted deviation",
        y_name="root mean square error",
        height=300.0,
        x_ticks=labelled(list(places)),
    )
    for place, one, own in zip(places, found, predicted, strict=True):
        tooltip = f"group {place:.0f}: {short(float(one), 3)}, predicted {short(float(own), 3)}"
        axes.box(place - 0.35, place + 0.35, 0.0, float(one), "negative", tooltip)
    axes.dots(places, predicted, 4.5, "dot positive")
    listed = "; ".join(
        f"{short(float(one), 3)} where {short(float(own), 3)} was predicted"
        for one, own in zip(found, predicted, strict=True)
    )
    caption = (
        "Bars: the error among rows of which the model is sure (left) and unsure (right). Dots: "
        "the error it predicts for them."
    )
    return figure(axes.svg(f"Errors in groups of rows by predicted deviation: {listed}."), caption)


def most_surprising(evidence: NumberEvidence) -> Markup:
    """The rows whose true number has the lowest predicted density."""
    rows = np.argsort(evidence.seen.log_density, kind="stable")[:_LISTED]
    names, values, left_out = row_values(evidence, rows)
    caption = "Rows with the most surprising numbers"
    if left_out:
        caption += f", with the {len(names)} columns that matter most"
    numbers = [int(row) for row in rows]
    called = numbers if evidence.row_names is None else evidence.row_names(numbers)
    seen = evidence.seen
    lines = [
        [
            name,
            float(seen.mean[row]),
            float(seen.deviation[row]),
            float(evidence.y[row]),
            *of_row,
        ]
        for name, row, of_row in zip(called, rows, values, strict=True)
    ]
    return table(caption, ["Row", "Predicted", "Deviation", "True", *names], lines)
