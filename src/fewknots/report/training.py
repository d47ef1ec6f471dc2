"""The course of training."""

import numpy as np

from ..explain.history import clock, settled_range
from ..markup import Markup, element
from .axes import Axes, figure, spread
from .number_evidence import AnyEvidence
from .numbers import counted, short

_MOST_POINTS = 400


def training_figures(evidence: AnyEvidence) -> list[Markup]:
    """The bound over time, and the held-out NLP if the fit had one."""
    history = getattr(evidence.classifier, "history_", None) or {}
    if len(history.get("bound", ())) < 2:
        return []
    times, unit = clock(history)
    bound = np.asarray(history["bound"], np.float64)
    name = "evidence bound" if evidence.classifier.evidence_is_bound_ else "log evidence"
    figures = [_curve(times, unit, bound, f"{name}, nats", settled_range(bound), "negative")]
    nlp = history.get("held_out_nlp")
    if nlp is not None and np.isfinite(nlp).sum() > 1:
        known = np.isfinite(nlp)
        scores = np.asarray(nlp, np.float64)[known]
        limits = settled_range(scores)
        figures.append(
            _curve(times[known], unit, scores, "held-out NLP, nats a row", limits, "positive")
        )
    return figures


def training_sentence(evidence: AnyEvidence) -> Markup:
    """How long it took and how it ended."""
    classifier = evidence.classifier
    history = getattr(classifier, "history_", None) or {}
    seconds = history.get("seconds", ())
    took = f" in {short(float(seconds[-1]), 3)} seconds" if len(seconds) else ""
    ended = "converged" if classifier.converged_ else "ended before it had converged"
    kind = (
        "a lower bound on the log evidence" if classifier.evidence_is_bound_ else "a log evidence"
    )
    return element(
        "p",
        f"Training {ended} after {counted(classifier.n_iter_, 'iteration')}{took}, with {kind} of "
        f"{short(classifier.log_evidence_, 6)} nats.",
    )


def _curve(times, unit: str, values, name: str, limits: tuple[float, float], kind: str) -> Markup:
    shown = np.unique(np.linspace(0, len(times) - 1, _MOST_POINTS).astype(int))
    axes = Axes(spread(times, margin=0.0), limits, x_name=unit, y_name=name, height=230.0)
    axes.line(times[shown], values[shown], kind)
    alternative = (
        f"{name} over {short(float(times[-1]), 3)} {unit}: from {short(float(values[0]), 4)} to "
        f"{short(float(values[-1]), 4)}."
    )
    caption = f"{name[0].upper()}{name[1:]}, over the {unit} of training."
    return figure(axes.svg(alternative), caption)
