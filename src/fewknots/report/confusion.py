"""Which of many classes are taken for which: the confusion matrix, and the most confused pairs.

The matrix is a table in a box that scrolls both ways, with the names of rows and columns always in
view. A cell's shade is a CSS class: the page's security policy allows no style of a cell's own.
"""

import numpy as np
from jaxtyping import Int

from ..markup import Markup, element, join
from .evidence import Evidence
from .labels import IN_A_SENTENCE, label, shortened
from .numbers import counted, percent
from .tables import Entry, boxed, table

_SHADES = 10
_IN_A_HEADING = 16  # characters
_PAIRS = 15
_NOTE = (
    "Rows of the table are true classes, columns are answers. The shade is the share of the true "
    "class (its square root, so that rare mistakes can be seen): right answers on the diagonal in "
    "one colour, wrong ones in the other. Empty cells: no row."
)


def counted_pairs(evidence: Evidence) -> Int[np.ndarray, "C C"]:
    """[true class, answer]: the number of rows."""
    n = evidence.n_classes
    return np.bincount(evidence.y * n + evidence.answer, minlength=n * n).reshape(n, n)


def matrix(evidence: Evidence) -> Markup:
    """Counts as a heat map."""
    counts, labels = counted_pairs(evidence), evidence.classifier.classes_
    head = element(
        "tr",
        element("td", ""),
        *(
            element("th", element("span", label(name, _IN_A_HEADING)), scope="col", class_="turned")
            for name in labels
        ),
    )
    body = [
        element(
            "tr",
            element("th", label(name, _IN_A_HEADING), scope="row", class_="plain"),
            *(_cell(evidence, counts[c], c, answer) for answer in range(len(labels))),
        )
        for c, name in enumerate(labels)
    ]
    parts = element("thead", head), element("tbody", *body)
    box = boxed("Confusion matrix, in rows", *parts, kind="confusion")
    return join([box, element("p", _NOTE, class_="note")])


def most_confused(evidence: Evidence) -> Markup:
    """The pairs of different classes with the most rows."""
    counts = counted_pairs(evidence)
    wrong = counts * (1 - np.eye(len(counts), dtype=int))
    if not wrong.any():
        return element("p", "No row was answered wrongly.")
    order = np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS]
    rows = []
    for c, answer in zip(*np.unravel_index(order, wrong.shape), strict=True):
        count = int(wrong[c, answer])
        if count:
            share = count / int(counts[c].sum())
            names = [Entry(label(name), str(name)) for name in evidence.classifier.classes_]
            turned = int(wrong[answer, c])
            rows.append([names[c], names[answer], count, Entry(percent(share), share), turned])
    header = ["Label", "Answer", "Rows", "Of the rows of this label", "The other way round"]
    caption = "Most confused pairs"
    if (left_out := int(np.count_nonzero(wrong)) - len(rows)) > 0:
        caption += f" (the first {len(rows)}; {left_out:,} more)"
    return table(caption, header, rows)


def leading_sentence(evidence: Evidence) -> Markup:
    """How many rows are answered wrongly, and how many of these by the first few pairs."""
    counts = counted_pairs(evidence)
    wrong = np.sort((counts * (1 - np.eye(len(counts), dtype=int))).ravel())[::-1]
    total = int(wrong.sum())
    if not total:
        return element("p", "Every row was answered rightly.")
    few = min(5, int(np.count_nonzero(wrong)))
    words = (
        f"{counted(total, 'row')} of {len(evidence.y):,} "
        f"{'is' if total == 1 else 'are'} answered wrongly; {counted(few, 'pair')} of classes "
        f"{'makes' if few == 1 else 'make'} up {percent(float(wrong[:few].sum()) / total)} of them."
    )
    return element("p", words)


def _cell(evidence: Evidence, of_class: np.ndarray, c: int, answer: int) -> Markup:
    count = int(of_class[answer])
    if not count:
        return element("td")
    share = count / int(of_class.sum())
    kind = "right" if c == answer else "wrong"
    name, called = (shortened(evidence.labels[i], IN_A_SENTENCE) for i in (c, answer))
    tooltip = f"{name} called {called}: {counted(count, 'row')}, {percent(share)} of {name}"
    shade = int(np.ceil(_SHADES * np.sqrt(share)))
    return element("td", f"{count:,}", class_=f"{kind} s{shade}", title=tooltip)
