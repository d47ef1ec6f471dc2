"""Effects of single columns: curves over numbers and dates, bars over levels."""

import numpy as np

from ..explain import (
    Effect,
    Input,
    effect,
    over_the_calendar,
    over_the_day,
    over_the_week,
)
from .axes import PROBABILITIES, UNIT, Axes, figure, labelled, spread
from .calendar_axis import calendar_ticks, dated
from .evidence import Evidence
from .labels import IN_A_SENTENCE, label, shortened, whole
from .markup import Markup, element
from .numbers import counted, short

_COLUMNS = 6
_LEAST_SPAN = 0.01  # effects of weekday and time of day are shown if their span is at least this
_HEIGHT = 215.0
_LINE = 22.0  # the height of one level
_BELOW = 24.0

NOTE = (
    "Mean probability over the rows when all of them get the same value of one column. The band, "
    "or line, is the model's own 95 % doubt. Curves leave out the lowest and the highest hundredth "
    "of the values; a point of a long calendar stands for whole weeks. What goes together is "
    "shown, not what causes what."
)


def effect_figures(evidence: Evidence) -> list[Markup]:
    """A small figure for each of the columns that matter most; a date may have up to three."""
    return [
        _drawn(evidence, found)
        for column in evidence.order[:_COLUMNS]
        for found in _effects(evidence, evidence.inputs[column])
    ]


def _effects(evidence: Evidence, one: Input) -> list[Effect]:
    if one.kind != "date":
        return [effect(evidence.rows, one)]
    circles = over_the_week(evidence.rows, one), over_the_day(evidence.rows, one)
    telling = [c for c in circles if c is not None and c.span >= _LEAST_SPAN]
    return [over_the_calendar(evidence.rows, one), *telling]


def _drawn(evidence: Evidence, found: Effect) -> Markup:
    title = element("p", label(found.name, IN_A_SENTENCE), class_="title")
    picture = _bars(evidence, found) if found.labels else _curve(evidence, found)
    return figure(picture, _caption(found), title)


def _curve(evidence: Evidence, found: Effect) -> Markup:
    wide = spread(found.values, margin=0.15 if found.separate else 0.0)
    x_ticks = None
    if found.kind == "date":
        x_ticks = calendar_ticks(*wide)
    elif found.kind == "hour":
        x_ticks = [(float(hour), f"{hour:02}:00") for hour in range(0, 25, 6)]
    elif found.separate:
        x_ticks = labelled([float(v) for v in found.values])
    axes = Axes(
        wide,
        UNIT,
        y_name=f"P({evidence.labels[1]})",
        height=_HEIGHT,
        bottom=_BELOW,
        x_ticks=x_ticks,
        y_ticks=PROBABILITIES,
    )
    if found.separate:
        axes.whiskers(found.values, found.low, found.high, "positive")
        axes.dots(found.values, found.probability, 4.5, "dot positive")
    else:
        axes.band(found.values, found.low, found.high, "positive")
        axes.line(found.values, found.probability, "positive")

    def at(place: int) -> str:
        value = float(found.values[place])
        written = dated(value) if found.kind == "date" else short(value)
        return f"{found.probability[place]:.2f} at {written}"

    least, greatest = int(np.argmin(found.probability)), int(np.argmax(found.probability))
    return axes.svg(
        f"Effect of {shortened(found.name, IN_A_SENTENCE)}: the mean probability of "
        f"{evidence.labels[1]} goes from {at(0)} to {at(-1)}; least {at(least)}, greatest "
        f"{at(greatest)}."
    )


def _bars(evidence: Evidence, found: Effect) -> Markup:
    """One bar per level, from top to bottom."""
    levels = [whole(level) for level in found.labels]
    axes = Axes(
        (0.0, 1.02),
        (len(levels) - 0.4, -0.6),
        x_name=f"P({evidence.labels[1]})",
        height=50.0 + _LINE * len(levels),
        x_ticks=PROBABILITIES,
        y_ticks=[(float(i), level) for i, level in enumerate(levels)],
    )
    for i, level in enumerate(levels):
        probability = float(found.probability[i])
        tooltip = f"{level}: {probability:.2f} ({found.low[i]:.2f} to {found.high[i]:.2f})"
        axes.box(0.0, probability, i - 0.33, i + 0.33, "positive", tooltip)
    axes.spans(found.low, found.high, found.values, "ink")
    listed = ", ".join(
        f"{shortened(level, IN_A_SENTENCE)} {p:.2f}"
        for level, p in zip(levels, found.probability, strict=True)
    )
    return axes.svg(
        f"Effect of {shortened(found.name, IN_A_SENTENCE)}: the mean probability of "
        f"{evidence.labels[1]} is {listed}."
    )


def _caption(found: Effect) -> str | None:
    said = []
    if found.missing is not None:
        probability, low, high = found.missing
        said.append(f"Where it is missing: {probability:.2f} ({low:.2f} to {high:.2f}).")
    if found.left_out:
        said.append(f"The rarest {counted(found.left_out, 'level')} not shown.")
    return " ".join(said) or None
