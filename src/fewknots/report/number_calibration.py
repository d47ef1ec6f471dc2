"""Calibration of predicted numbers: coverage of intervals by level, and ranks (PIT)."""

import numpy as np

from ..markup import Markup
from ..number_scoring import coverage as share_within
from ..number_scoring import rank_shares
from ..scoring import wilson
from .axes import Axes, figure, spread, unit_axes
from .number_evidence import NumberEvidence
from .numbers import percent

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_BINS = 20


def coverage(evidence: NumberEvidence) -> Markup:
    """The share of rows within their intervals, against the intervals' probability."""
    found = [share_within(evidence.seen, level) for level in _LEVELS]
    around = np.array([wilson(share, len(evidence.y)) for share in found])
    axes = unit_axes("probability of the interval", "share of rows within")
    axes.line([0, 1], [0, 1], "reference")
    axes.whiskers(_LEVELS, around[:, 0], around[:, 1], "positive")
    texts = [
        f"{percent(share)} within {percent(level)} intervals"
        for level, share in zip(_LEVELS, found, strict=True)
    ]
    axes.dots(_LEVELS, found, 4.5, "dot positive", texts)
    caption = (
        "Share of the rows within intervals of each probability, with 95 % intervals of the share. "
        "On the dashed line they are calibrated; above it they are too wide, below too narrow."
    )
    return figure(axes.svg(f"Coverage of intervals: {'; '.join(texts)}."), caption)


def ranks(evidence: NumberEvidence) -> Markup:
    """Histogram of the rank of each true number in its predicted distribution."""
    shares = rank_shares(evidence.seen, _BINS)
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    even = 1.0 / _BINS
    axes = Axes(
        (-0.02, 1.02),
        (0.0, spread(shares, [2.0 * even])[1]),
        x_name="rank of the true number (PIT)",
        y_name="share of rows",
        height=300.0,
    )
    for low, high, share in zip(edges[:-1], edges[1:], shares, strict=True):
        tooltip = f"{low:.2f} to {high:.2f}: {percent(float(share))} of the rows"
        axes.box(float(low), float(high), 0.0, float(share), "negative", tooltip)
    axes.line([0.0, 1.0], [even, even], "reference")
    outer, inner = shares[[0, -1]].sum(), shares[_BINS // 4 : -_BINS // 4].sum()
    alternative = (
        f"Histogram of ranks in {_BINS} bins: {percent(float(outer))} of the rows in the outer two "
        f"({percent(2 * even)} if predictions are right), {percent(float(inner))} in the middle "
        "half."
    )
    caption = (
        "Where the true numbers are in their predicted distributions. Flat, along the dashed line: "
        "calibrated. High ends: predictions are too certain; a hump: not certain enough; a slope: "
        "they are too high or too low."
    )
    return figure(axes.svg(alternative), caption)
