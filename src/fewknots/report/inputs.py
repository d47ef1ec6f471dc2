"""Which inputs matter, what they do, and the surface over two of them."""

import numpy as np

from ..explain import Effect, effect, surface, two_to_show
from .axes import PROBABILITIES, UNIT, WIDTH, Axes, class_key, figure, labelled, spread
from .evidence import Evidence
from .heat_map import heat_map, level_line
from .hyperparameters import per_input
from .markup import Markup, element, join
from .numbers import counted, percent, short
from .tables import Entry, table

_BARS = 15
_CURVES = 6
_LISTED = 60
_DOTS = 500
_LARGE_KNOTS, _MOST_KNOTS = 50, 500  # inducing points that leave something to be seen
_NAME = 20  # characters of an input's name beside its bar


def relevance_bars(evidence: Evidence) -> Markup:
    """The strongest inputs, by the kernel or, if it does not tell them apart, by shuffling."""
    relevance = evidence.relevance
    by_kernel = relevance.per_input
    change = relevance.change if by_kernel else evidence.shuffled
    shown = evidence.order[:_BARS]
    names = [relevance.names[column] for column in shown]
    axes = Axes(
        (0.0, 1.05 * max(float(change.max()), 1e-9)),
        (len(shown) - 0.4, -0.6),
        x_name="expected change of f" if by_kernel else "mean change of the probability",
        height=58.0 + 20.0 * len(shown),
        left=14.0 + 6.2 * min(max(map(len, names)), _NAME),
        y_ticks=[(float(i), _cut(name)) for i, name in enumerate(names)],
    )
    for i, (name, column) in enumerate(zip(names, shown, strict=True)):
        says = f"{name}: {short(float(change[column]), 3)}"
        axes.box(0.0, float(change[column]), i - 0.35, i + 0.35, "negative", says)
    told = ", ".join(f"{n} {short(float(change[c]), 3)}" for n, c in zip(names, shown, strict=True))
    if by_kernel:
        caption = (
            "How far the function is expected to move when an input moves by one standard "
            "deviation: large for a short lengthscale, close to nothing for a long one."
        )
    else:
        caption = (
            "The kernel has one lengthscale for all inputs, so here is how far probabilities move "
            "when an input's values are shuffled among the rows."
        )
    return figure(axes.svg(f"Relevance of inputs, the strongest first: {told}."), caption)


def input_table(evidence: Evidence) -> Markup:
    """Relevance and the kernel's parameters, input by input, in the user's units."""
    classifier = evidence.classifier
    parameters = per_input(classifier.kernel_, classifier._standardiser.scale)
    shown = evidence.order[:_LISTED]
    share = evidence.relevance.share
    rows = [
        [
            evidence.rows.names[c],
            float(evidence.relevance.change[c]),
            Entry(percent(float(share[c])), float(share[c])),
            float(evidence.shuffled[c]),
            *(float(values[c]) for values in parameters.values()),
        ]
        for c in shown
    ]
    header = ["Input", "Change of f", "Share", "Shuffled", *parameters]
    left_out = len(evidence.order) - len(shown)
    caption = "Inputs, with the kernel's parameters in their own units"
    if left_out:
        caption += f" (the strongest {len(shown)}; {left_out:,} more)"
    note = (
        "Change of f: as in the picture. Share: of the squared changes. Shuffled: how far the "
        "probability moves when the input's values are dealt out anew among the rows."
    )
    return join([table(caption, header, rows), element("p", note, class_="note")])


def effect_curves(evidence: Evidence) -> list[Markup]:
    """One small figure for each of the strongest inputs."""
    return [_curve(evidence, effect(evidence.rows, c)) for c in evidence.order[:_CURVES]]


def decision_surface(evidence: Evidence) -> Markup | None:
    """The probability over two inputs; None if there is one input only."""
    columns = two_to_show(evidence.rows, evidence.order)
    if columns is None:
        return None
    found = surface(evidence.rows, columns)
    across, up = found.across[[0, -1]], found.up[[0, -1]]
    axes = Axes(
        (across[0], across[1]),
        (up[0], up[1]),
        x_name=found.names[0],
        y_name=found.names[1],
        height=WIDTH,
    )
    box = {
        "x": axes.x.begin,
        "y": axes.y.end,
        "width": axes.x.end - axes.x.begin,
        "height": axes.y.begin - axes.y.end,
    }
    address = heat_map(found.probability)
    axes.add(element("image", href=address, preserveAspectRatio="none", **box))
    some = np.linspace(0, len(evidence.y) - 1, min(_DOTS, len(evidence.y))).astype(int)
    rows, truth = evidence.rows.X[some][:, list(columns)], evidence.y[some]
    axes.many_dots(rows[:, 0], rows[:, 1], "edge")  # so that blue can be seen on blue
    for value, kind in enumerate(("negative small", "positive small")):
        axes.many_dots(rows[truth == value, 0], rows[truth == value, 1], kind)
    pieces = level_line(found.across, found.up, found.probability, 0.5)
    path = "".join(
        f"M{axes.x(a[0]):.1f} {axes.y(a[1]):.1f}L{axes.x(b[0]):.1f} {axes.y(b[1]):.1f}"
        for a, b in pieces
    )
    axes.add(element("path", d=path, class_="line border"))
    inside = (found.points >= [across[0], up[0]]) & (found.points <= [across[1], up[1]])
    points = found.points[inside.all(axis=1)]
    size = "" if len(points) <= _LARGE_KNOTS else " small"
    drawn = points[:: 1 + len(points) // _MOST_KNOTS]
    for kind in ("halo", "knot"):
        axes.many_dots(drawn[:, 0], drawn[:, 1], kind + size)
    positive = evidence.labels[1]
    share = percent(float(np.mean(found.probability > 0.5)))
    others = " The other inputs are held at their medians." if found.held else ""
    alternative = (
        f"Probability of {positive} over {found.names[0]} and {found.names[1]}. {share} of the "
        f"area is above one half. {counted(len(points), 'point')} in the picture.{others}"
    )
    caption = (
        f"Colour: the probability of {positive}. Line: where it is one half. Rings: the points "
        f"that hold the model.{others}"
    )
    return figure(axes.svg(alternative), caption, class_key(evidence.named_labels))


def _curve(evidence: Evidence, found: Effect) -> Markup:
    positive = evidence.labels[1]
    wide = spread(found.values, margin=0.15 if found.separate else 0.0)
    axes = Axes(
        wide,
        UNIT,
        x_name=found.name,
        y_name=f"P({positive})",
        height=230.0,
        x_ticks=labelled([float(v) for v in found.values]) if found.separate else None,
        y_ticks=PROBABILITIES,
    )
    if found.separate:
        axes.whiskers(found.values, found.low, found.high, "positive")
        axes.dots(found.values, found.probability, 4.5, "dot positive")
    else:
        axes.band(found.values, found.low, found.high, "positive")
        axes.line(found.values, found.probability, "positive")
    first, last = found.probability[[0, -1]]
    low, high = int(np.argmin(found.probability)), int(np.argmax(found.probability))
    alternative = (
        f"Effect of {found.name}: the mean probability of {positive} goes from {first:.2f} at "
        f"{short(float(found.values[0]))} to {last:.2f} at {short(float(found.values[-1]))}; least "
        f"{found.probability[low]:.2f} at {short(float(found.values[low]))}, greatest "
        f"{found.probability[high]:.2f} at {short(float(found.values[high]))}."
    )
    return figure(axes.svg(alternative), None)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"
