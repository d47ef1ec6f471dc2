r"""How one input moves the prediction, the other inputs being what they are.

For each value v of input d all of a sample of rows get that value, and what the model then says is
averaged over them (partial dependence): the curve is the mean probability. The band is the mean of
the rows' own 95 % bands, from the latent function at μ ± 1.96 σ. As the standard deviation of a
mean is at most the mean of the standard deviations, it is not too narrow for what it shows.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtr

from .nameless import Nameless, check_rows

_ROWS = 100  # averaged over
_POINTS = 40  # along the curve
_FEW = 8  # distinct values, which are then shown one by one
_LINKS = {"probit": ndtr, "logit": expit}
_WIDTH = 1.96


class Effect(NamedTuple):
    """The curve of one input."""

    name: str
    values: Float[np.ndarray, " V"]  # of the input, in the user's units
    probability: Float[np.ndarray, " V"]
    low: Float[np.ndarray, " V"]
    high: Float[np.ndarray, " V"]
    separate: bool  # the input has a few distinct values, and these are they

    @property
    def span(self) -> float:
        """How far the curve goes up and down."""
        return float(np.ptp(self.probability))


def effect(rows: Nameless, column: int) -> Effect:
    """The mean probability of `classes_[1]` and its band, along one input."""
    check_rows(rows)
    distinct = np.unique(rows.X[:, column])
    separate = len(distinct) <= _FEW
    if separate:
        values = distinct
    else:  # between the outer hundredths: a single far value would make the curve all axis
        low, high = np.quantile(rows.X[:, column], [0.01, 0.99])
        values = np.linspace(low, high, _POINTS)
    sample = rows.sample(_ROWS)
    made_up = np.repeat(sample[None], len(values), axis=0)
    made_up[:, :, column] = values[:, None]
    made_up = made_up.reshape(-1, sample.shape[1])
    probability = rows.classifier.predict_proba(made_up)[:, 1]
    mean, variance = rows.classifier.predict_latent(made_up)
    link, width = _LINKS[rows.classifier.likelihood], _WIDTH * np.sqrt(variance)

    def averaged(quantity: np.ndarray) -> np.ndarray:
        return quantity.reshape(len(values), -1).mean(axis=1)

    return Effect(
        rows.names[column],
        values,
        averaged(probability),
        averaged(link(mean - width)),
        averaged(link(mean + width)),
        separate,
    )
