"""Effects of single columns: curves over numbers and dates, bars over levels."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..explain import (
    Effect,
    Input,
    effect,
    over_the_calendar,
    over_the_day,
    over_the_week,
)
from ..markup import Markup, element
from .axes import PROBABILITIES, UNIT, Axes, class_kind, figure, key, labelled, spread
from .calendar_axis import calendar_ticks, dated
from .evidence import Evidence
from .labels import IN_A_SENTENCE, label, shortened, whole
from .number_evidence import AnyEvidence
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


NOTE_OF_MANY = (
    f"{NOTE} The classes whose probability changes most are drawn, up to six for a column; the "
    "others share what is left."
)


NOTE_OF_NUMBERS = NOTE.replace("Mean probability", "Mean prediction")


class _Scale(NamedTuple):
    """The quantity that is drawn, and its range."""

    of: str  # in sentences
    name: str  # of the axis
    limits: tuple[float, float]
    ticks: list[tuple[float, str]] | None
    written: Callable[[float], str]


class _Curve(NamedTuple):
    """One class in a figure."""

    name: str
    kind: str  # CSS class
    probability: Float[np.ndarray, " V"]
    low: Float[np.ndarray, " V"]
    high: Float[np.ndarray, " V"]


def effect_figures(evidence: AnyEvidence) -> list[Markup]:
    """A small figure for each of the columns that matter most; a date may have up to three."""
    return [
        _drawn(evidence, found)
        for column in evidence.order[:_COLUMNS]
        for found in _effects(evidence, evidence.inputs[column])
    ]


def _effects(evidence: AnyEvidence, one: Input) -> list[Effect]:
    if one.kind != "date":
        return [effect(evidence.rows, one)]
    circles = over_the_week(evidence.rows, one), over_the_day(evidence.rows, one)
    telling = [c for c in circles if c is not None and c.span >= _LEAST_SPAN * _unit(evidence)]
    return [over_the_calendar(evidence.rows, one), *telling]


def _unit(evidence: AnyEvidence) -> float:
    """The unit of spans: probabilities, or the spread of the target."""
    return 1.0 if isinstance(evidence, Evidence) else float(np.std(evidence.y))


def _drawn(evidence: AnyEvidence, found: Effect) -> Markup:
    title = element("p", label(found.name, IN_A_SENTENCE), class_="title")
    curves = _curves(evidence, found)
    legend = None if _is_one_curve(evidence) else key(*((one.kind, one.name) for one in curves))
    if not found.labels:
        picture = _along(evidence, found, curves)
    elif not isinstance(evidence, Evidence):
        picture = _dots_of_numbers(evidence, found)
    elif evidence.n_classes == 2:
        picture = _bars(evidence, found)
    else:
        picture = _dots_of_levels(found, curves)
    return figure(picture, _caption(evidence, found), title, legend)


def _scale(evidence: AnyEvidence, found: Effect) -> _Scale:
    if not isinstance(evidence, Evidence):
        limits = spread(found.low, found.high, found.probability)
        return _Scale(f"the mean {evidence.what}", evidence.what, limits, None, short)
    one = evidence.labels[1] if evidence.n_classes == 2 else None
    name = "probability" if one is None else f"P({one})"
    of = f"the mean probability of {one}"
    return _Scale(of, name, UNIT, PROBABILITIES, lambda p: f"{p:.2f}")


def _is_one_curve(evidence: AnyEvidence) -> bool:
    return not isinstance(evidence, Evidence) or evidence.n_classes == 2


def _curves(evidence: AnyEvidence, found: Effect) -> list[_Curve]:
    """The curve of the positive class; with many classes, those that change most."""
    band = found.probability, found.low, found.high
    if not isinstance(evidence, Evidence):
        return [_Curve(evidence.what, "positive", *band)]
    if evidence.n_classes == 2:
        return [_Curve(evidence.labels[1], "positive", *band)]
    return [
        _Curve(evidence.labels[c], class_kind(place, evidence.n_classes), *(q[:, c] for q in band))
        for place, c in enumerate(found.classes_to_show())
    ]


def _along(evidence: AnyEvidence, found: Effect, curves: list[_Curve]) -> Markup:
    scale = _scale(evidence, found)
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
        scale.limits,
        y_name=scale.name,
        height=_HEIGHT,
        bottom=_BELOW,
        x_ticks=x_ticks,
        y_ticks=scale.ticks,
    )
    for one in curves:
        if found.separate:
            axes.whiskers(found.values, one.low, one.high, one.kind)
            axes.dots(found.values, one.probability, 4.5, f"dot {one.kind}")
        else:
            axes.band(found.values, one.low, one.high, one.kind)
            axes.line(found.values, one.probability, one.kind)

    def at(one: _Curve, place: int) -> str:
        value = float(found.values[place])
        written = dated(value) if found.kind == "date" else short(value)
        return f"{scale.written(float(one.probability[place]))} at {written}"

    before = "the mean probability of " if isinstance(evidence, Evidence) else "the mean "

    def sentence(one: _Curve) -> str:
        least, greatest = int(np.argmin(one.probability)), int(np.argmax(one.probability))
        return (
            f"{before}{one.name} goes from {at(one, 0)} to {at(one, -1)}; least "
            f"{at(one, least)}, greatest {at(one, greatest)}."
        )

    return axes.svg(
        f"Effect of {shortened(found.name, IN_A_SENTENCE)}: {' '.join(map(sentence, curves))}"
    )


def _dots_of_levels(found: Effect, curves: list[_Curve]) -> Markup:
    """One line per level, from top to bottom, with a dot for each class."""
    levels = [whole(level) for level in found.labels]
    axes = Axes(
        UNIT,
        (len(levels) - 0.4, -0.6),
        x_name="probability",
        height=50.0 + _LINE * len(levels),
        x_ticks=PROBABILITIES,
        y_ticks=[(float(i), level) for i, level in enumerate(levels)],
    )
    for one in curves:
        tooltips = [
            f"{level}, {one.name}: {p:.2f} ({low:.2f} to {high:.2f})"
            for level, p, low, high in zip(levels, *one[2:], strict=True)
        ]
        axes.dots(one.probability, found.values, 4.5, f"dot {one.kind}", tooltips)
    listed = ". ".join(
        f"{shortened(level, IN_A_SENTENCE)}: "
        + ", ".join(f"{one.name} {one.probability[i]:.2f}" for one in curves)
        for i, level in enumerate(levels)
    )
    name = shortened(found.name, IN_A_SENTENCE)
    return axes.svg(f"Effect of {name}: the mean probabilities of classes. {listed}.")


def _dots_of_numbers(evidence: AnyEvidence, found: Effect) -> Markup:
    """One line per level, with the mean prediction and its doubt."""
    levels, scale = [whole(level) for level in found.labels], _scale(evidence, found)
    axes = Axes(
        scale.limits,
        (len(levels) - 0.4, -0.6),
        x_name=scale.name,
        height=50.0 + _LINE * len(levels),
        y_ticks=[(float(i), level) for i, level in enumerate(levels)],
    )
    axes.spans(found.low, found.high, found.values, "ink")
    tooltips = [
        f"{level}: {scale.written(float(mean))}"
        for level, mean in zip(levels, found.probability, strict=True)
    ]
    axes.dots(found.probability, found.values, 4.5, "dot positive", tooltips)
    name = shortened(found.name, IN_A_SENTENCE)
    return axes.svg(f"Effect of {name}: {scale.of} is {', '.join(tooltips)}.")


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


def _caption(evidence: AnyEvidence, found: Effect) -> str | None:
    sentences = []
    if found.missing is not None and _is_one_curve(evidence):
        written = _scale(evidence, found).written
        mean, low, high = (written(float(value)) for value in found.missing)
        sentences.append(f"Where it is missing: {mean} ({low} to {high}).")
    elif found.missing is not None:
        assert isinstance(evidence, Evidence)
        shown = found.classes_to_show()
        listed = ", ".join(f"{evidence.labels[c]} {found.missing[0][c]:.2f}" for c in shown)
        sentences.append(f"Where it is missing: {listed}.")
    if found.left_out:
        sentences.append(f"The rarest {counted(found.left_out, 'level')} not shown.")
    return " ".join(sentences) or None
