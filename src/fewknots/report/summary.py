"""The task in a sentence, the comparison with the best baseline, and the table of scores."""

from typing import Any

import numpy as np

from ..markup import Markup, element, join
from ..scoring import intervals, scores
from .card import SCORE_HEADINGS, held_by, likelihood_in_a_word, scores_of_model
from .evidence import Evidence
from .labels import IN_A_SENTENCE, label
from .number_evidence import AnyEvidence
from .numbers import counted, percent, short
from .tables import Entry, table

MODEL = "Gaussian process"
_RESAMPLED_ROWS = 10_000_000  # in all resamples together, which take some seconds
_FEWEST_RESAMPLES, _MOST_RESAMPLES = 40, 200

_MEANING = (
    "NLP: mean negative log probability of what came true, in nats a row. Brier: mean squared "
    "difference between probability and outcome. Error: share of wrong answers. AUC: chance that a "
    "positive row gets the higher probability. Calibration error: mean distance between predicted "
    "and observed shares, in ten bins. Less is better, except for AUC. Below each score: a 95 % "
    "interval, from drawing the rows anew."
)
_MEANING_OF_MANY = (
    "NLP: mean negative log probability of what came true, in nats a row. Brier: squared "
    "difference between probability and outcome, summed over the classes. Error: share of rows "
    "whose most probable class is not theirs. Calibration error: mean distance between predicted "
    "and observed shares of a class, in ten bins; the mean over all classes. Less is better. Below "
    "each score: a 95 % interval, from drawing the rows anew."
)


def task(evidence: Evidence) -> Markup:
    """One sentence: target, number of columns and rows, and the model."""
    target = evidence.about.get("target")
    what = "the label" if target is None else element("b", label(target, IN_A_SENTENCE))
    names = [element("b", label(name, IN_A_SENTENCE)) for name in evidence.classifier.classes_]
    classifier = evidence.classifier
    if evidence.n_classes == 2:
        asked = ["Whether ", what, " is ", names[1], " rather than ", names[0]]
        frequent, before = 1, "of them "
    else:
        asked = [f"Which of {evidence.n_classes} classes ", what, " is"]
        frequent, before = int(evidence.counts.argmax()), "of them of the most frequent class, "
    return element(
        "p",
        *asked,
        f", predicted from {counted(len(evidence.inputs), 'column')} and checked on "
        f"{counted(len(evidence.y), 'row')}, "
        f"{percent(evidence.counts[frequent] / len(evidence.y))} {before}",
        names[frequent],
        f". {evidence.checked_on} The model is a Gaussian process held by {held_by(classifier)}",
        learned_from(evidence),
        f" ({classifier.method_}, {likelihood_in_a_word(classifier)}).",
        class_="task",
    )


def verdict(evidence: Evidence) -> Markup:
    """Key numbers, and a sentence that compares the model with the best baseline."""
    found = scores_of_model(evidence)
    tiles = [
        (percent(1.0 - (found["error"] or 0.0)), "right answers"),
        (short(found["nlp"], 3), "NLP, nats a row"),
        (short(found["auc"], 3), "AUC") if "auc" in found else (short(found["brier"], 3), "Brier"),
        (short(found["ece"], 2), "calibration error"),
    ]
    drawn = [element("div", element("b", value), element("span", name)) for value, name in tiles]
    return join([element("div", *drawn, class_="tiles"), worth(evidence)])


def score_table(evidence: Evidence) -> Markup:
    """All scores with intervals: the model's, and the baselines' on the same rows."""
    affordable = _RESAMPLED_ROWS // len(evidence.y)
    resamples = min(max(affordable, _FEWEST_RESAMPLES), _MOST_RESAMPLES)
    own = evidence.p if evidence.n_classes == 2 else np.exp(evidence.log_p)
    predictors: dict[str, tuple[Any, Any]] = {MODEL: (own, evidence.log_p)}
    predictors |= {name: (p, None) for name, p in evidence.baselines.items()}
    rows = []
    for name, (p, log_p) in predictors.items():
        found = scores(p, evidence.y, log_p)
        around = intervals(p, evidence.y, resamples=resamples, log_p=log_p)
        rows.append([name, *(entry(found[key], around[key]) for key in found)])
    header = ["Predictor", *(SCORE_HEADINGS[key] for key in found)]
    meaning = _MEANING if evidence.n_classes == 2 else _MEANING_OF_MANY
    return join(
        [table("Scores on the checked rows", header, rows), element("p", meaning, class_="note")]
    )


def learned_from(evidence: AnyEvidence) -> str:
    """Words about the number of training rows, if it is known."""
    n_rows = evidence.about.get("n_rows")
    return f" and learned from {counted(n_rows, 'row')}" if isinstance(n_rows, int) else ""


def worth(evidence: AnyEvidence) -> Markup | None:
    """The comparison with the best baseline in a sentence."""
    if evidence.against is None:
        return None
    words = element("b", evidence.against.words)
    return element("p", words, f" ({evidence.against.interval}).", class_="verdict")


def entry(value: float | None, around: tuple[float, float] | None) -> Entry:
    """A score with its interval."""
    if value is None or around is None:
        return Entry("–", None)
    low, high = around
    decimals = 4 if abs(value) < 10 else 2
    interval = f"{low:.{decimals}f} to {high:.{decimals}f}"
    return Entry(join([f"{value:.{decimals}f}", element("small", interval)], " "), float(value))
