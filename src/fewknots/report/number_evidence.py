"""The data for all sections of the report on a model of numbers, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_array

from ..explain import Importance, Input, UnnamedRows, importance, inputs_of, without_names
from ..explain.unnamed_rows import check_kind, check_rows
from ..likelihoods import Gaussian
from ..number_scoring import Seen, number_scores
from .comparison import Comparison, compare_row_by_row
from .evidence import UNKNOWN_ROWS, Evidence, RowNames
from .labels import IN_A_SENTENCE, shortened


@dataclass(frozen=True)
class NumberEvidence:
    """A regressor, rows to score it on, and its predictions for them."""

    rows: UnnamedRows
    y: Float[np.ndarray, " N"]
    seen: Seen
    baselines: dict[str, Seen]
    against: Comparison | None
    inputs: tuple[Input, ...]  # the user's columns
    importance: Importance  # of each
    raw: Any  # pyarrow table of the same rows before encoding, or None
    about: Mapping[str, Any]
    row_names: RowNames | None

    @property
    def classifier(self) -> Any:
        """The regressor, under the name that sections for all models use."""
        return self.rows.classifier

    @property
    def what(self) -> str:
        """What is predicted, as text."""
        target = self.about.get("target")
        return "y" if target is None else shortened(target, IN_A_SENTENCE)

    @property
    def order(self) -> list[int]:
        """The user's columns by descending importance."""
        return self.importance.order

    @property
    def checked_on(self) -> str:
        """A sentence about the origin of these rows, if it is known."""
        return str(self.about.get("checked_on") or UNKNOWN_ROWS)

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """The model's scores."""
        return number_scores(self.seen, self.y)


AnyEvidence = Evidence | NumberEvidence


def gather_numbers(
    regressor: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[object] | None,
    recipe: Any,
    baselines: Any,
    raw: Any,
    about: Mapping[str, Any] | None,
    row_names: RowNames | None,
) -> NumberEvidence:
    """Predict for all rows, and compare with the baselines."""
    check_kind(regressor, classifier=False)
    rows = without_names(regressor, X, feature_names)
    check_rows(rows, classifier=False)
    truth = check_array(np.asarray(y), ensure_2d=False, dtype=np.float64, input_name="y")
    for name, given in (("y", truth), ("rows", raw)):
        if given is not None and len(given) != len(rows.X):
            raise ValueError(
                f"{name} has {len(given)} rows, X has {len(rows.X)}: they must be the same."
            )
    inputs = inputs_of(rows, recipe)
    seen = rows.classifier._seen(rows.X, truth)
    counts = regressor.likelihood_.support == "counts"
    others = {} if baselines is None else baselines.seen(rows.X, truth, counts=counts)
    theirs = {name: -one.log_density for name, one in others.items()}
    return NumberEvidence(
        rows,
        truth,
        seen,
        others,
        compare_row_by_row(-seen.log_density, theirs),
        inputs,
        importance(rows, truth, inputs),
        raw,
        about or {},
        row_names,
    )


def likelihood_in_words(regressor: Any) -> str:
    """Name and learned parameters, in the units of y: "Gaussian, noise of deviation 0.3"."""
    likelihood = regressor.likelihood_
    if isinstance(likelihood, Gaussian):
        return f"Gaussian, noise of deviation {float(likelihood.noise) ** 0.5:.4g}"
    parameters = [f"{name} {float(getattr(likelihood, name)):.4g}" for name in likelihood.roles]
    return ", ".join([type(likelihood).__name__, *parameters])
