"""Which columns matter: a ranking by permutation importance, and the kernel's parameters."""

import numpy as np

from ..explain.relevance import has_ard
from ..kernels.hyperparameters import per_input
from ..markup import Markup, element, join
from .axes import Axes, figure
from .labels import IN_A_SENTENCE, label, shortened, whole
from .number_evidence import AnyEvidence
from .numbers import counted
from .tables import Entry, table

_BARS = 15
_LISTED = 60
_UNKNOWN = "these rows do not tell"


def importance_bars(evidence: AnyEvidence) -> Markup:
    """The columns that matter most, with intervals."""
    found = evidence.importance
    shown = evidence.order[:_BARS]
    names = [whole(found.names[column]) for column in shown]
    lowest = min(0.0, float(found.low[shown].min()))
    highest = max(float(found.high[shown].max()), 1e-6)
    room = 0.04 * (highest - lowest)
    axes = Axes(
        (lowest - (room if lowest < 0 else 0.0), highest + room),
        (len(shown) - 0.4, -0.6),
        x_name="loss without the column, nats a row",
        height=58.0 + 20.0 * len(shown),
        y_ticks=[(float(i), name) for i, name in enumerate(names)],
    )
    for i, (name, column) in enumerate(zip(names, shown, strict=True)):
        tooltip = f"{name}: {_in_words(evidence, column)}"
        axes.box(0.0, float(found.loss[column]), i - 0.35, i + 0.35, "negative", tooltip)
    axes.spans(found.low[shown], found.high[shown], range(len(shown)), "ink")
    axes.line([0.0, 0.0], [axes.y.low, axes.y.high], "zero")
    listed = ", ".join(
        f"{shortened(name, IN_A_SENTENCE)} {_nats(found.loss[c])}"
        for name, c in zip(names, shown, strict=True)
    )
    caption = (
        "How much worse the predictions become when a column's values are shuffled among the rows "
        "(rise of the NLP). Lines: 95 % intervals; where one crosses 0 these rows do not tell "
        "whether the column matters."
    )
    if len(shown) < len(evidence.order):
        caption += f" Shown: {len(shown)} of {len(evidence.order):,} columns."
    return figure(
        axes.svg(f"Loss in nats a row when a column is shuffled, the greatest first: {listed}."),
        caption,
    )


def importance_table(evidence: AnyEvidence) -> Markup:
    """The same as a table, for all columns or the first sixty."""
    found = evidence.importance
    shown = evidence.order[:_LISTED]
    rows = []
    for column in shown:
        one = evidence.inputs[column]
        low, high = float(found.low[column]), float(found.high[column])
        loss = float(found.loss[column])
        interval = element("small", f"{_nats(low)} to {_nats(high)}")
        entry = Entry(join([_nats(loss), interval], " "), loss)
        rows.append([one.name, entry, _does_it_matter(low, high), one.kind, one.n_features])
    caption = "Columns, by what predictions lose without them"
    if left_out := len(evidence.order) - len(shown):
        caption += f" (the first {len(shown)}; {left_out:,} more)"
    header = ["Column", "Loss, nats a row", "Does it matter?", "Kind", "Inputs of the model"]
    note = (
        f"Means over {counted(found.n_shuffles, 'shuffle')} of {counted(found.n_rows, 'row')}, "
        "with 95 % intervals from drawing the rows anew. All inputs that were made of a column are "
        "shuffled together. The loss is small for a column that others can replace."
    )
    return join([table(caption, header, rows), element("p", note, class_="note")])


def kernel_detail(evidence: AnyEvidence) -> Markup | None:
    """The kernel's parameters for each input; None if the kernel has no such parameters."""
    classifier = evidence.classifier
    parameters = per_input(classifier.kernel_, classifier._standardiser.scale)
    if not parameters:
        return None
    heading = element("h3", "Detail: how quickly the function changes along each input")
    meaning = (
        "A lengthscale is how far one has to go along an input until the model's latent function "
        "has changed a good deal, in the units of that input (a text's level and a circle of the "
        "calendar are inputs of their own). It is no ranking: a function may change quickly along "
        "an input that tells little about the labels. Columns are in the order of the picture "
        "above."
    )
    if not has_ard(classifier.kernel_):
        meaning = "The kernel has one lengthscale for all inputs, in their standard deviations."
        return join([heading, element("p", meaning, class_="note")])
    features = [
        (one.name, feature)
        for one in (evidence.inputs[column] for column in evidence.order)
        for feature in range(one.features.start, one.features.stop)
    ]
    rows = [
        [name, evidence.rows.names[c], *(_value(values[c]) for values in parameters.values())]
        for name, c in features[:_LISTED]
    ]
    caption = "The kernel's parameters, in the units of the inputs"
    if left_out := len(features) - len(rows):
        caption += f" (the first {len(rows)}; {left_out:,} more)"
    listed = table(caption, ["Column", "Input of the model", *parameters], rows)
    return join([heading, element("p", meaning, class_="note"), listed])


def _value(parameter: float) -> float | str:
    return "not used" if np.isnan(parameter) else float(parameter)


def leading_sentence(evidence: AnyEvidence) -> Markup:
    """A sentence with the columns whose interval is above zero."""
    found = evidence.importance
    certain = [c for c in evidence.order if found.low[c] > 0]
    if not certain:
        words: list[object] = ["These rows do not show for any column that it matters."]
    else:
        named = [element("b", label(found.names[c])) for c in certain[:3]]
        words = ["What matters most: ", join(named, ", "), ". ", _how_many(evidence, len(certain))]
    return element("p", *words)


def _how_many(evidence: AnyEvidence, certain: int) -> str:
    if certain == len(evidence.inputs):
        return "These rows show for every column that it matters."
    return (
        f"These rows show for {certain:,} of {counted(len(evidence.inputs), 'column')} that they "
        "matter; for the others they do not."
    )


def _does_it_matter(low: float, high: float) -> str:
    if low > 0:
        return "yes"
    return "it harms" if high < 0 else _UNKNOWN


def _in_words(evidence: AnyEvidence, column: int) -> str:
    found = evidence.importance
    around = f"{_nats(found.low[column])} to {_nats(found.high[column])}"
    return f"{_nats(found.loss[column])} nats a row, 95 % interval {around}"


def _nats(value: float) -> str:
    return f"{value:z.4f}"  # all with the same decimals, and no minus before 0.0000
