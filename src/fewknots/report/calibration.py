"""Calibration: the reliability diagram, and the histogram of the probabilities."""

import numpy as np

from ..scoring import ReliabilityBin, reliability
from .axes import PROBABILITIES, UNIT, Axes, class_key, figure, ticks, unit_axes
from .evidence import Evidence
from .markup import Markup, element, join
from .numbers import counted, percent, short

_LARGEST = 9.0
_BINS = 20  # of the histogram


def reliability_diagram(evidence: Evidence) -> Markup:
    """Observed against predicted shares in bins, with intervals; below, the rows of each bin."""
    positive = evidence.labels[1]
    bins = reliability(evidence.p, evidence.y)
    predicted, observed, count, low, high = map(np.array, zip(*bins, strict=True))
    axes = unit_axes(f"predicted probability of {positive}", "observed share")
    axes.line([0, 1], [0, 1], "reference")
    axes.whiskers(predicted, low, high, "positive")
    radius = np.maximum(_LARGEST * np.sqrt(count / count.max()), 2.0)
    texts = [_bin_as_text(b) for b in bins]
    axes.dots(predicted, observed, radius, "dot positive", texts)
    off = sum(not b.low <= b.predicted <= b.high for b in bins)
    alternative = (
        f"Reliability diagram of {counted(len(bins), 'bin')}. " + ". ".join(texts) + ". "
        f"{off} of them lie off the diagonal by more than their interval."
    )
    caption = (
        "Rows grouped by what was predicted. On the dashed line predictions come true as often as "
        "they say; vertical lines are 95 % intervals, a dot's area follows its number of rows."
    )
    return figure(join([axes.svg(alternative), _counts(bins)]), caption)


def histogram(evidence: Evidence) -> Markup:
    """Histogram of the probabilities: the positive class above the line, the other below."""
    negative, positive = evidence.labels
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    counts = [np.histogram(evidence.p[evidence.y == c], edges)[0] for c in (0, 1)]
    highest = [1.08 * max(int(c.max()), 1) for c in counts]
    axes = Axes(
        (0.0, 1.0),
        (-highest[0], highest[1]),
        x_name=f"predicted probability of {positive}",
        y_name="rows",
        height=300.0,
        x_ticks=PROBABILITIES,
        y_ticks=_symmetric_ticks(highest[0], highest[1]),
    )
    for kind, label, sign, count in zip(
        ("negative", "positive"), (negative, positive), (-1, 1), counts, strict=True
    ):
        for left, right, n in zip(edges, edges[1:], count, strict=False):
            tooltip = f"{short(left)} to {short(right)}: {counted(int(n), 'row')} of {label}"
            if n:
                axes.box(left, right - 0.005, 0, sign * n, kind, tooltip)
    axes.line([0, 1], [0, 0], "zero")
    certain = float(np.mean(np.abs(evidence.p - 0.5) > 0.45))
    parts = [
        f"{label}: median {short(float(np.median(evidence.p[evidence.y == c])), 2)}"
        for c, label in enumerate((negative, positive))
        if np.any(evidence.y == c)
    ]
    alternative = (
        f"Histogram of predicted probabilities of {positive} by class. {'. '.join(parts)}. "
        f"{percent(certain)} of the rows are below 0.05 or above 0.95."
    )
    caption = (
        f"Predicted probabilities by what came true. {percent(certain)} of the rows are answered "
        "with more than 95 % certainty."
    )
    return figure(axes.svg(alternative), caption, class_key(evidence.named_labels))


def _counts(bins: list[ReliabilityBin]) -> Markup:
    """The strip below the diagram: a bar for each bin, and its number of rows."""
    highest = float(max(b.count for b in bins))
    room = 1.45 * highest
    axes = Axes(UNIT, (0.0, room), y_name="rows", height=70.0, bottom=4.0, x_ticks=[], y_ticks=[])
    for b in bins:
        left = min(int(b.predicted * 10), 9) / 10
        axes.box(left + 0.01, left + 0.09, 0, b.count, "quiet", _bin_as_text(b))
        place = {"x": float(axes.x(left + 0.05)), "y": float(axes.y(b.count)) - 3.0}
        axes.add(element("text", _few_digits(b.count), **place, class_="count"))
    return axes.svg("Rows in each bin: " + ", ".join(f"{b.count:,}" for b in bins) + ".")


def _few_digits(count: int) -> str:
    """A count that fits above a bar: 123, 4567, 12k, 3.4M."""
    if count < 10_000:
        return str(count)
    return f"{count / 1e3:.0f}k" if count < 1e6 else f"{count / 1e6:.1f}M"


def _bin_as_text(b: ReliabilityBin) -> str:
    return f"predicted {b.predicted:.2f}, observed {b.observed:.2f}, {counted(b.count, 'row')}"


def _symmetric_ticks(down: float, up: float) -> list[tuple[float, str]]:
    """Ticks with positive labels in both directions from zero."""
    return [(place, short(abs(place))) for place in ticks(-down, up, 6)]
