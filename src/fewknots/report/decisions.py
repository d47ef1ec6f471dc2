"""The confusion matrix, with a slider for the threshold.

The counts for every threshold of the slider are computed here, from all rows, and stored in the
page; threshold.js only looks them up. Without JavaScript the table is for the threshold one half;
in print, for the last position of the slider.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..markup import Markup, element, join
from .evidence import Evidence
from .labels import label
from .numbers import percent
from .tables import boxed

_QUANTILES = 101
_IN_A_HEADING = 24  # characters


class Thresholds(NamedTuple):
    """For each threshold, how many positive and negative rows are above it."""

    values: Float[np.ndarray, " T"]
    hits: Int[np.ndarray, " T"]  # positive rows called positive
    alarms: Int[np.ndarray, " T"]  # negative rows called positive


def thresholds(p: Float[np.ndarray, " N"], y: Int[np.ndarray, " N"]) -> Thresholds:
    """All multiples of 0.01, and the percentiles of p, rounded to three digits.

    The percentiles are needed where all probabilities are close together, as for a rare class.
    """
    own = [float(f"{q:.3g}") for q in np.quantile(p, np.linspace(0.0, 1.0, _QUANTILES))]
    values = np.unique(np.concatenate([np.arange(101) / 100, own]))

    def above(chosen: np.ndarray) -> np.ndarray:
        return len(chosen) - np.searchsorted(np.sort(chosen), values, side="right")

    return Thresholds(values, above(p[y == 1]), above(p[y == 0]))


def confusion(evidence: Evidence) -> Markup:
    """The slider, the four counts, and the rates computed from them."""
    found = thresholds(evidence.p, evidence.y)
    half = int(np.searchsorted(found.values, 0.5))
    positives = int(evidence.y.sum())
    rows = len(evidence.y)
    slider = element(
        "input",
        type="range",
        min=0,
        max=len(found.values) - 1,
        step=1,
        value=half,
        aria_valuetext="0.5",
    )
    sentence = element(
        "label",
        f"A row is called {evidence.labels[1]} if its probability is above ",
        element("output", "0.5"),
        element("span", slider, hidden="hidden"),  # threshold.js shows it
    )
    return element(
        "div",
        element("p", sentence),
        element(
            "div", _matrix(evidence, found, half, positives), _rates(found, half, positives, rows)
        ),
        element("p", _meaning(evidence), class_="note"),
        class_="threshold",
        data_thresholds=" ".join(f"{value:g}" for value in found.values),
        data_hits=" ".join(map(str, found.hits)),
        data_alarms=" ".join(map(str, found.alarms)),
        data_positives=positives,
        data_negatives=rows - positives,
    )


def _matrix(evidence: Evidence, found: Thresholds, at: int, positives: int) -> Markup:
    negative, positive = evidence.labels
    hits, alarms = int(found.hits[at]), int(found.alarms[at])
    negatives = len(evidence.y) - positives
    head = element(
        "tr",
        element("td", ""),
        *(
            element("th", label(words, _IN_A_HEADING), scope="col", class_="number plain")
            for words in (f"called {positive}", f"called {negative}", "all")
        ),
    )
    lines = [
        (f"is {positive}", ("hits", hits), ("misses", positives - hits), positives),
        (f"is {negative}", ("alarms", alarms), ("rejections", negatives - alarms), negatives),
    ]
    body = [
        element(
            "tr",
            element("th", label(name, _IN_A_HEADING), scope="row", class_="plain"),
            *(
                element("td", f"{count:,}", class_="number", data_count=key)
                for key, count in (first, second)
            ),
            element("td", f"{total:,}", class_="number"),
        )
        for name, first, second, total in lines
    ]
    called = hits + alarms
    body.append(
        element(
            "tr",
            element("th", "all", scope="row", class_="plain"),
            element("td", f"{called:,}", class_="number", data_count="called"),
            element("td", f"{len(evidence.y) - called:,}", class_="number", data_count="others"),
            element("td", f"{len(evidence.y):,}", class_="number"),
        )
    )
    return boxed("Confusion matrix, in rows", element("thead", head), element("tbody", *body))


def _rates(found: Thresholds, at: int, positives: int, rows: int) -> Markup:
    hits, alarms = int(found.hits[at]), int(found.alarms[at])
    right = hits + rows - positives - alarms
    shares = {
        "precision": (hits, hits + alarms),
        "recall": (hits, positives),
        "accuracy": (right, rows),
        "called positive": (hits + alarms, rows),
    }
    drawn = [
        element(
            "div",
            element("b", percent(part / all_) if all_ else "–", data_share=name.split(" ")[0]),
            element("span", name),
        )
        for name, (part, all_) in shares.items()
    ]
    return element("div", *drawn, class_="tiles")


def _meaning(evidence: Evidence) -> Markup:
    positive = evidence.labels[1]
    return join(
        [
            f"Precision: of the rows called {positive}, the share that are. Recall: of the rows "
            f"that are {positive}, the share that were called so. Accuracy: the share of right "
            f"answers. Called positive: the share of all rows called {positive}. A low threshold "
            "misses less and raises more false alarms; which is worse is for you to say."
        ]
    )
