"""The probability over two columns of numbers, as a picture."""

import numpy as np

from ..explain import surface, two_to_show, typical_row
from ..markup import Markup, element
from .axes import WIDTH, Axes, class_key, class_kind, figure
from .evidence import Evidence
from .heat_map import heat_map, level_line, region_map
from .labels import IN_A_SENTENCE, shortened, svg_label
from .numbers import counted, percent

_DOTS = 500
_GRID, _COARSE_GRID = 80, 50  # the coarse one if predictions take long, as with many classes
_REGIONS_TOLD = 6
_IN_A_REGION = 14  # characters
_LARGE_KNOTS, _MOST_KNOTS = 50, 500  # more inducing points are drawn smaller, or only in part


def decision_surface(evidence: Evidence) -> Markup | None:
    """The probability over the two numbers that matter most; None if there are not two."""
    inputs = [evidence.inputs[column] for column in evidence.order]
    numbers = [one.features.start for one in inputs if one.kind == "number"]
    columns = two_to_show(evidence.rows, numbers)
    if columns is None:
        return None
    held_at = typical_row(evidence.rows, evidence.inputs)
    grid = _GRID if evidence.rows.price == 1 else _COARSE_GRID
    found = surface(evidence.rows, columns, grid, held_at)
    two = found.probability.ndim == 2
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
    address = heat_map(found.probability) if two else region_map(found.answer, found.certainty)
    axes.add(element("image", href=address, preserveAspectRatio="none", **box))
    some = np.linspace(0, len(evidence.y) - 1, min(_DOTS, len(evidence.y))).astype(int)
    rows, truth = evidence.rows.X[some][:, list(columns)], evidence.y[some]
    axes.many_dots(rows[:, 0], rows[:, 1], "edge")  # makes blue dots visible on blue
    for value in range(evidence.n_classes):
        kind = f"{class_kind(value, evidence.n_classes)} small"
        axes.many_dots(rows[truth == value, 0], rows[truth == value, 1], kind)
    if two:
        pieces = level_line(found.across, found.up, found.probability, 0.5)
    else:  # the border of the last region is that of the others
        leads = map(found.lead, found.regions[:-1])
        pieces = [p for lead in leads for p in level_line(found.across, found.up, lead, 0.0)]
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
    others = _others(evidence) if len(evidence.inputs) > 2 else ""
    first, second = (shortened(name, IN_A_SENTENCE) for name in found.names)
    if two:
        positive = evidence.labels[1]
        share = percent(float(np.mean(found.probability > 0.5)))
        shown = (
            f"Probability of {positive} over {first} and {second}. {share} of the "
            "area is above one half."
        )
        meaning = f"Colour: the probability of {positive}. Line: where it is one half."
    else:
        for number, (x, y) in found.places_for_names().items():
            place = {"x": float(axes.x(x)), "y": float(axes.y(y)) + 4.0, "text_anchor": "middle"}
            name = evidence.classifier.classes_[number]
            axes.add(svg_label(name, _IN_A_REGION, **place, class_="region"))
        areas = np.bincount(found.answer.ravel()) / found.answer.size
        largest = sorted(found.regions, key=lambda c: -areas[c])[:_REGIONS_TOLD]
        listed = ", ".join(f"{evidence.labels[c]} in {percent(float(areas[c]))}" for c in largest)
        shown = (
            f"Most probable class over {first} and {second}: "
            f"{counted(len(found.regions), 'class', 'classes')} somewhere; {listed} of the area."
        )
        meaning = (
            "Colour: the most probable class, paler where it is less probable. Lines: borders "
            "between classes. Dots: rows, in the colour of their label."
        )
    alternative = f"{shown} {counted(len(points), 'point')} in the picture.{others}"
    caption = f"{meaning} Rings: the points that hold the model.{others}"
    return figure(axes.svg(alternative), caption, class_key(evidence.named_labels))


def _others(evidence: Evidence) -> str:
    if any(one.kind in ("text", "boolean") for one in evidence.inputs):
        return (
            " The other columns are held at their medians, texts and booleans at their most "
            "frequent value."
        )
    return " The other columns are held at their medians."
