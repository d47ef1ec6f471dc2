"""Cumulative gains and lift: how many positive rows are found among those with the highest p."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..markup import Markup, element, join
from .axes import Axes, figure, labelled, unit_axes
from .evidence import Evidence
from .numbers import percent, short
from .tables import Entry, table

_GROUPS = 10
_POINTS = 100


class _Group(NamedTuple):
    """Consecutive rows in descending order of p."""

    first: int
    beyond: int
    rate: float  # the share of positive rows among them
    found: float  # the share of all positive rows up to here


def gains(
    p: Float[np.ndarray, " N"], y: Int[np.ndarray, " N"], taken: Float[np.ndarray, " T"]
) -> Float[np.ndarray, " T"]:
    """The share of all positive rows that are among the first `taken` (a share) of the rows.

    Rows are in descending order of p. Rows of equal p have no order, so the positive ones among
    them count as spread evenly.
    """
    order = np.argsort(-p, kind="stable")
    descending = p[order]
    ends = np.flatnonzero(np.concatenate([descending[1:] != descending[:-1], [True]])) + 1
    found = np.cumsum(y[order])[ends - 1]
    rows = np.concatenate([[0.0], ends]) / len(p)
    return np.interp(taken, rows, np.concatenate([[0.0], found]) / max(int(y.sum()), 1))


def gains_curve(evidence: Evidence, curves: list[tuple[str, np.ndarray, str]]) -> Markup:
    """Positive rows found against rows taken; `curves` are (predictor, its p, CSS class)."""
    axes = unit_axes("share of the rows taken", "share of positive rows found")
    axes.line([0, 1], [0, 1], "reference")
    taken = np.linspace(0.0, 1.0, _POINTS + 1)
    for _, p, kind in curves:
        axes.line(taken, gains(p, evidence.y, taken), kind)
    fifth = {
        name: percent(float(gains(p, evidence.y, np.array([0.2]))[0])) for name, p, _ in curves
    }
    text = ", ".join(f"{name} {share}" for name, share in fifth.items())
    caption = (
        "Cumulative gains: the share of positive rows found when so many rows are taken, those "
        f"with the highest probability first. Dashed: taken at random. In the first fifth: {text}."
    )
    return figure(
        axes.svg(f"Cumulative gains. Positive rows found in the first fifth: {text}."), caption
    )


def lift_bars(evidence: Evidence) -> Markup:
    """The lift of each group of rows, from the highest probabilities to the lowest."""
    groups = _groups(evidence)
    n, positives = len(evidence.y), int(evidence.y.sum())
    lifts = [group.rate * n / positives for group in groups]
    places = np.arange(1.0, len(groups) + 1.0)
    axes = Axes(
        (0.5, len(groups) + 0.5),
        (0.0, 1.08 * max(*lifts, 1.0)),
        x_name="groups of rows, highest probability first",
        y_name="lift",
        x_ticks=labelled(list(places)),
        height=300.0,
    )
    for place, lift, group in zip(places, lifts, groups, strict=True):
        tooltip = f"rows {group.first + 1:,} to {group.beyond:,}: lift {lift:.2f}"
        axes.box(place - 0.35, place + 0.35, 0.0, lift, "positive", tooltip)
    axes.line([axes.x.low, axes.x.high], [1.0, 1.0], "reference")
    text = ", ".join(f"{lift:.2f}" for lift in lifts)
    caption = (
        "Lift: how many times as many positive rows each group has as rows taken at random "
        "(dashed). A model that ranks well falls from left to right."
    )
    return figure(axes.svg(f"Lift of {len(groups)} groups of rows: {text}."), caption)


def lift_table(evidence: Evidence) -> Markup:
    """The lift of each tenth of the rows: its share of positive rows relative to all rows."""
    n, positives = len(evidence.y), int(evidence.y.sum())
    falling = np.sort(evidence.p)[::-1]
    rows = []
    for first, beyond, rate, after in _groups(evidence):
        rows.append(
            [
                Entry(f"{first + 1:,} to {beyond:,}", float(first)),
                Entry(
                    f"{short(falling[first], 3)} to {short(falling[beyond - 1], 3)}", falling[first]
                ),
                Entry(percent(rate), rate),
                Entry(f"{rate * n / positives:.2f}", rate),
                Entry(percent(after), after),
                Entry(f"{after * n / beyond:.2f}", after * n / beyond),
            ]
        )
    header = ["Rows", "Probability", "Positive", "Lift", "Found so far", "Lift so far"]
    note = (
        f"Rows by falling probability. Positive: the share that are {evidence.labels[1]}. Lift: "
        f"that share as a multiple of the share among all rows, {percent(positives / n)}. Found so "
        "far: of all positive rows. Rows with equal probabilities count as mixed evenly."
    )
    caption = "Lift, group by group"
    return join([table(caption, header, rows), element("p", note, class_="note")])


def _groups(evidence: Evidence) -> list[_Group]:
    n = len(evidence.y)
    edges = np.round(np.linspace(0, n, min(_GROUPS, n) + 1)).astype(int)
    found = gains(evidence.p, evidence.y, edges / n)
    rates = np.diff(found) * evidence.y.sum() / np.diff(edges)
    return [
        _Group(int(first), int(beyond), float(rate), float(after))
        for first, beyond, rate, after in zip(edges, edges[1:], rates, found[1:], strict=False)
    ]
