"""For a model of numbers: the task in a sentence, the key numbers, the table of scores."""

from ..markup import Markup, element, join
from ..number_scoring import number_intervals, number_scores
from .card import SCORE_HEADINGS, held_by
from .labels import IN_A_SENTENCE, label
from .number_evidence import NumberEvidence, likelihood_in_words
from .numbers import counted, percent, short
from .summary import MODEL, entry, learned_from, worth
from .tables import table

_RESAMPLED_ROWS = 10_000_000
_FEWEST_RESAMPLES, _MOST_RESAMPLES = 40, 200
_MEANING = (
    "NLP: mean negative log density of what came true, in nats a row (of counts: log probability); "
    "it falls with the size of the numbers, so compare it only within a column. RMSE and MAE: root "
    "mean square and mean size of the error, in the units of the target. R²: share of the variance "
    "that is explained. The last column: share of rows within their 95 % intervals. Below each "
    "score: a 95 % interval, from drawing the rows anew."
)


def task(evidence: NumberEvidence) -> Markup:
    """One sentence: target, number of columns and rows, and the model."""
    regressor = evidence.classifier
    low, high = float(evidence.y.min()), float(evidence.y.max())
    return element(
        "p",
        element("b", label(evidence.what, IN_A_SENTENCE)),
        f", a number, predicted from {counted(len(evidence.inputs), 'column')} and checked on "
        f"{counted(len(evidence.y), 'row')}, where it is {short(low)} to {short(high)}. "
        f"{evidence.checked_on} The model is a Gaussian process held by {held_by(regressor)}",
        learned_from(evidence),
        f" ({regressor.method_}, {likelihood_in_words(regressor)}).",
        class_="task",
    )


def verdict(evidence: NumberEvidence) -> Markup:
    """Key numbers, and a sentence that compares the model with the best baseline."""
    found = evidence.scores
    tiles = [
        (short(found["rmse"], 3), "RMSE"),
        ("–" if found["r2"] is None else percent(found["r2"]), "of the variance explained (R²)"),
        (short(found["nlp"], 3), "NLP, nats a row"),
        (percent(found["coverage"] or 0.0), "within their 95 % intervals"),
    ]
    drawn = [element("div", element("b", value), element("span", name)) for value, name in tiles]
    return join([element("div", *drawn, class_="tiles"), worth(evidence)])


def score_table(evidence: NumberEvidence) -> Markup:
    """All scores with intervals: the model's, and the baselines' on the same rows."""
    affordable = _RESAMPLED_ROWS // len(evidence.y)
    resamples = min(max(affordable, _FEWEST_RESAMPLES), _MOST_RESAMPLES)
    rows = []
    for name, seen in ({MODEL: evidence.seen} | evidence.baselines).items():
        found = number_scores(seen, evidence.y)
        around = number_intervals(seen, evidence.y, resamples=resamples)
        rows.append([name, *(entry(found[key], around[key]) for key in found)])
    header = ["Predictor", *(SCORE_HEADINGS[key] for key in found)]
    return join(
        [table("Scores on the checked rows", header, rows), element("p", _MEANING, class_="note")]
    )
