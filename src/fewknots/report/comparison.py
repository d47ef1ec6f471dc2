"""Comparison of the model with the best baseline, with an interval."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..scoring import difference_interval, row_nlp
from .numbers import counted, short


class Comparison(NamedTuple):
    """The model against the baseline that does best, row by row."""

    baseline: str
    gain: float  # nats a row; above 0: the model is better
    low: float  # a 95 % interval
    high: float
    n_rows: int

    @property
    def words(self) -> str:
        """The result in a sentence."""
        size = f"by {short(abs(self.gain), 3)} nats a row"
        if self.low > 0:
            return f"The model is better than the best baseline, {self.baseline}, {size}"
        if self.high < 0:
            return f"The model is worse than a baseline: {self.baseline} is better {size}"
        return (
            f"These {counted(self.n_rows, 'row')} do not tell whether the model is better than the "
            f"best baseline, {self.baseline}"
        )

    @property
    def interval(self) -> str:
        """The numbers of the comparison."""
        return (
            f"NLP of {self.baseline} less that of the model: {short(self.gain, 3)} nats a row, "
            f"95 % interval {short(self.low, 3)} to {short(self.high, 3)}"
        )


def compare_with_best(
    log_p: Float[np.ndarray, "N C"],
    y: Int[np.ndarray, " N"],
    baselines: dict[str, Float[np.ndarray, "N ..."]],
) -> Comparison | None:
    """The comparison with the baseline of the lowest NLP; None if there are no baselines."""
    own = -log_p[np.arange(len(y)), y]
    return compare_row_by_row(own, {name: row_nlp(p, y) for name, p in baselines.items()})


def compare_row_by_row(
    own: Float[np.ndarray, " N"], theirs: dict[str, Float[np.ndarray, " N"]]
) -> Comparison | None:
    """The same, of the NLP of each row."""
    if not theirs:
        return None
    best = min(theirs, key=lambda name: float(np.mean(theirs[name])))
    low, high = difference_interval(theirs[best], own)
    return Comparison(best, float(np.mean(theirs[best] - own)), low, high, len(own))
