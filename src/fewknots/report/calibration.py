"""Calibration: reliability diagrams, the histogram of the probabilities, and a table of classes.

With more than two classes every pair of a row and a class is a prediction: they are drawn together,
and for each class on its own.
"""

import numpy as np
from jaxtyping import Int

from ..markup import Markup, element, join
from ..scoring import ReliabilityBin, calibration_errors, reliability
from .axes import PROBABILITIES, UNIT, Axes, class_key, figure, key, ticks, unit_axes
from .evidence import Evidence
from .labels import IN_A_SENTENCE, label
from .numbers import counted, percent, short
from .tables import Entry, table

_LARGEST = 9.0
_BINS = 20  # of the histogram
_DIAGRAMS = 6  # of single classes
_CAPTION = (
    "Rows grouped by what was predicted. On the dashed line predictions come true as often as "
    "they say; vertical lines are 95 % intervals, a dot's area follows its number of rows."
)
_CAPTION_OF_ALL = (
    "Every class of every row is a prediction, grouped by its probability. On the dashed line they "
    "come true as often as they say; vertical lines are 95 % intervals, a dot's area follows the "
    "number of predictions (except in the largest bin, which has the most by far)."
)


def reliability_diagram(evidence: Evidence) -> Markup:
    """Observed against predicted shares in bins, with intervals; below, the rows of each bin."""
    if evidence.n_classes == 2:
        return _diagram(evidence.p, evidence.y, evidence.labels[1], _CAPTION)
    p, y = np.exp(evidence.log_p), _is_class(evidence)
    return _diagram(p.ravel(), y.ravel(), "each class", _CAPTION_OF_ALL, full=2)


def diagrams_of_classes(evidence: Evidence) -> list[Markup]:
    """The same for each class, or for the most frequent ones."""
    frequent = sorted(np.argsort(-evidence.counts, kind="stable")[:_DIAGRAMS].tolist())
    drawn = []
    for c in frequent:
        title = element("p", label(evidence.classifier.classes_[c], IN_A_SENTENCE), class_="title")
        p, y = np.exp(evidence.log_p[:, c]), (evidence.y == c).astype(int)
        drawn.append(_diagram(p, y, evidence.labels[c], None, title, full=2))
    return drawn


def table_of_classes(evidence: Evidence) -> Markup:
    """For each class: rows, mean probability, shares of right answers, calibration error."""
    p, y, answer = np.exp(evidence.log_p), evidence.y, evidence.answer
    errors = calibration_errors(p, y)
    right = np.bincount(y[answer == y], minlength=evidence.n_classes)
    called = np.bincount(answer, minlength=evidence.n_classes)
    rows = []
    for c, name in enumerate(evidence.classifier.classes_):
        count = int(evidence.counts[c])
        observed, predicted = count / len(y), float(p[:, c].mean())
        shares = [
            Entry(percent(part / whole) if whole else "–", part / whole if whole else None)
            for part, whole in ((int(right[c]), count), (int(right[c]), int(called[c])))
        ]
        known = [Entry(percent(share), share) for share in (observed, predicted)]
        named = Entry(label(name), str(name))
        rows.append([named, count, *known, *shares, Entry(f"{errors[c]:.4f}", float(errors[c]))])
    header = [
        "Class",
        "Rows",
        "Share of the rows",
        "Mean probability",
        "Recall",
        "Precision",
        "Calibration error",
    ]
    note = (
        "Share and mean probability agree if the model calls for a class as often as it occurs. "
        "Recall: of the rows of the class, the share that were called so. Precision: of the rows "
        "called so, the share that are. Calibration error: mean distance between predicted and "
        "observed shares of the class, in ten bins."
    )
    return join([table("Class by class", header, rows), element("p", note, class_="note")])


def _is_class(evidence: Evidence) -> Int[np.ndarray, "N C"]:
    return (evidence.y[:, None] == np.arange(evidence.n_classes)).astype(int)


def _diagram(
    p: np.ndarray, y: np.ndarray, positive: str, caption: str | None, *above: Markup, full: int = 1
) -> Markup:
    """`full`: which bin gets the largest dot and bar, by falling number of rows.

    Of many classes nearly all probabilities are in the lowest bin; beside it, no other bin would be
    seen. The second largest is then the measure.
    """
    bins = reliability(p, y)
    predicted, observed, count, low, high = map(np.array, zip(*bins, strict=True))
    axes = unit_axes(f"predicted probability of {positive}", "observed share")
    axes.line([0, 1], [0, 1], "reference")
    axes.whiskers(predicted, low, high, "positive")
    most = int(np.sort(count)[-min(full, len(count))])
    radius = np.maximum(_LARGEST * np.sqrt(np.minimum(count / most, 1.0)), 2.0)
    texts = [_bin_as_text(b) for b in bins]
    axes.dots(predicted, observed, radius, "dot positive", texts)
    off = sum(not b.low <= b.predicted <= b.high for b in bins)
    alternative = (
        f"Reliability diagram of {counted(len(bins), 'bin')}. " + ". ".join(texts) + ". "
        f"{off} of them lie off the diagonal by more than their interval."
    )
    return figure(join([axes.svg(alternative), _counts(bins, most)]), caption, *above)


def histogram(evidence: Evidence) -> Markup:
    """Histogram of the probabilities: the positive class above the line, the other below."""
    negative, positive = evidence.labels
    groups = [evidence.p[evidence.y == c] for c in (0, 1)]
    axes = _two_ways(groups, (negative, positive), ("negative", "positive"), positive)
    certain = float(np.mean(np.abs(evidence.p - 0.5) > 0.45))
    alternative = (
        f"Histogram of predicted probabilities of {positive} by class. "
        f"{_medians(groups, (negative, positive))}. "
        f"{percent(certain)} of the rows are below 0.05 or above 0.95."
    )
    caption = (
        f"Predicted probabilities by what came true. {percent(certain)} of the rows are answered "
        "with more than 95 % certainty."
    )
    return figure(axes.svg(alternative), caption, class_key(evidence.named_labels))


def histogram_of_answers(evidence: Evidence) -> Markup:
    """Histogram of the answers' probabilities: right answers above the line, wrong ones below."""
    p, wrong = np.exp(evidence.log_p.max(axis=1)), evidence.wrong
    groups, names = [p[wrong], p[~wrong]], ("wrong answers", "right answers")
    axes = _two_ways(groups, names, ("positive", "negative"), "the answer")
    certain = float(np.mean(p > 0.95))
    alternative = (
        f"Histogram of the probability of the most probable class. {_medians(groups, names)}. "
        f"{percent(certain)} of the rows are above 0.95."
    )
    caption = (
        "The probability of the answer, which is the most probable class. "
        f"{percent(certain)} of the rows are answered with more than 95 % certainty."
    )
    legend = key(("positive", "answered wrongly"), ("negative", "rightly"))
    return figure(axes.svg(alternative), caption, legend)


def _two_ways(
    groups: list[np.ndarray], names: tuple[str, str], kinds: tuple[str, str], positive: str
) -> Axes:
    """Bars of the probabilities of two groups of rows: the first below the line, the second above.

    names, kinds : of the groups, in words and as CSS classes.
    """
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    counts = [np.histogram(group, edges)[0] for group in groups]
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
    for kind, name, sign, count in zip(kinds, names, (-1, 1), counts, strict=True):
        for left, right, n in zip(edges, edges[1:], count, strict=False):
            tooltip = f"{short(left)} to {short(right)}: {counted(int(n), 'row')} of {name}"
            if n:
                axes.box(left, right - 0.005, 0, sign * n, kind, tooltip)
    axes.line([0, 1], [0, 0], "zero")
    return axes


def _medians(groups: list[np.ndarray], names: tuple[str, str]) -> str:
    return ". ".join(
        f"{name}: median {short(float(np.median(group)), 2)}"
        for name, group in zip(names, groups, strict=True)
        if len(group)
    )


def _counts(bins: list[ReliabilityBin], most: int) -> Markup:
    """The strip below the diagram: a bar for each bin, and its number of rows."""
    room = 1.45 * most
    axes = Axes(UNIT, (0.0, room), y_name="rows", height=70.0, bottom=4.0, x_ticks=[], y_ticks=[])
    for b in bins:
        left = min(int(b.predicted * 10), 9) / 10
        height = min(b.count, most)
        axes.box(left + 0.01, left + 0.09, 0, height, "quiet", _bin_as_text(b))
        place = {"x": float(axes.x(left + 0.05)), "y": float(axes.y(height)) - 3.0}
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
