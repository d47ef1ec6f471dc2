"""How well rows are ranked: the ROC and precision-recall curves, gains and lift."""

import numpy as np
from jaxtyping import Float
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from ..markup import Markup, element
from ..scoring import scores
from .axes import figure, key, unit_axes
from .evidence import Evidence
from .lift import gains_curve, lift_bars, lift_table
from .numbers import percent, short
from .summary import MODEL

_MOST_POINTS = 200
_OTHERS = ("other", "other dashed")  # lines of the baselines


def roc(evidence: Evidence) -> Markup:
    """ROC curve: true positive rate against false positive rate, for every threshold."""
    axes = unit_axes("false positive rate", "true positive rate")
    axes.line([0, 1], [0, 1], "reference")
    areas = {}
    for name, p, kind in _curves(evidence):
        false, true, _ = roc_curve(evidence.y, p)
        axes.line(*_thinned(false, true), kind)
        areas[name] = scores(p, evidence.y)["auc"]
    listed = ", ".join(f"{name} {short(area, 3)}" for name, area in areas.items())
    caption = "ROC curve: the share of positive rows found, for every share of false alarms."
    return figure(axes.svg(f"ROC curve. Area below it: {listed}."), f"{caption} Area: {listed}.")


def precision_recall(evidence: Evidence) -> Markup:
    """Precision against recall, for every threshold."""
    axes = unit_axes("recall", "precision")
    rate = float(evidence.y.mean())
    axes.line([0, 1], [rate, rate], "reference")
    averages = {}
    for name, p, kind in _curves(evidence):
        precision, recall, _ = precision_recall_curve(evidence.y, p)
        axes.line(*_thinned(recall, precision), kind)
        averages[name] = float(average_precision_score(evidence.y, p))
    listed = ", ".join(f"{name} {short(average, 3)}" for name, average in averages.items())
    caption = (
        "Precision-recall curve: the share of rows called positive that are, for every share of "
        f"positive rows found. Dashed: the base rate, {percent(rate)}. Average precision: {listed}."
    )
    return figure(axes.svg(f"Precision-recall curve. Average precision: {listed}."), caption)


def ranking(evidence: Evidence) -> list[Markup]:
    """Three curves and the lift; a sentence if all rows are of one class."""
    if not 0 < evidence.y.sum() < len(evidence.y):
        only = evidence.labels[int(evidence.y[0])]
        return [element("p", f"All rows are of one class, {only}: there is nothing to rank.")]
    gained = gains_curve(evidence, _curves(evidence))
    curves = [roc(evidence), precision_recall(evidence), gained, lift_bars(evidence)]
    return [_key(evidence), element("div", *curves, class_="grid"), lift_table(evidence)]


def _curves(evidence: Evidence) -> list[tuple[str, Float[np.ndarray, " N"], str]]:
    """The predictors whose p is not constant (as for the majority class); the model is last."""
    ranking = [(name, p) for name, p in evidence.baselines.items() if np.ptp(p) > 0]
    others = [(name, p, kind) for (name, p), kind in zip(ranking, _OTHERS, strict=False)]
    return [*others, (MODEL, evidence.p, "positive")]


def _key(evidence: Evidence) -> Markup:
    return key(*((kind, name) for name, _, kind in _curves(evidence)[::-1]))


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most 200 points of a curve, evenly along its length, including its ends."""
    if len(x) <= _MOST_POINTS:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], _MOST_POINTS)))
    kept = np.unique(np.concatenate([[0], np.minimum(kept, len(x) - 1), [len(x) - 1]]))
    return x[kept], y[kept]
