r"""Exposure: counts that were made over unequal times, areas or numbers of people.

With exposure e > 0 a count is y ~ Poisson(e r), r = level · eᶠ. Its log probability

    log p(y|f) = y log r - e r + y log e - log y!
               = e [(y/e) log r - r - log Γ(y/e + 1)] + c,
    c = y log e - log y! + e log Γ(y/e + 1),

is, up to the constant c, the log probability of the rate y/e with weight e. So every method that
takes weights can use exposures, exactly. For new rows log e is added to f.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln
from sklearn.utils.validation import column_or_1d

from ..data.row_checks import check_weights
from ..data.sources import ROWS_IN_A_BLOCK, Block, Source, open_source
from ..exceptions import DataError
from ..likelihoods import Likelihood, Poisson
from ..likelihoods.log_link import LogLink, counts

Latent = tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]


def check_has_exposure(likelihood: Likelihood, learned: bool) -> None:
    """Refuse likelihoods that have no rate to multiply by an exposure."""
    if learned and not isinstance(likelihood, Poisson):
        raise ValueError(
            "exposure is for likelihood='poisson', where it multiplies the row's rate; the "
            f"likelihood is {type(likelihood).__name__}. Use likelihood='poisson', or divide y by "
            "the exposure and pass sample_weight=exposure, if that is what you mean."
        )
    if not isinstance(likelihood, LogLink):
        raise ValueError(
            f"exposure multiplies a rate, and the likelihood {type(likelihood).__name__} has no "
            "rate. Leave exposure out."
        )


def checked(exposure: Any, n_rows: int) -> Float[np.ndarray, " N"]:
    """The exposures as one positive number for each row."""
    values = column_or_1d(np.asarray(exposure, np.float64))
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but exposure has {len(values)} numbers.")
    good = np.isfinite(values) & (values > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(f"exposure must be positive, but row {row} has {values[row]:g}.")
    return values


def constant(
    y: Float[np.ndarray, " N"],
    weights: Float[np.ndarray, " N"],
    exposure: Float[np.ndarray, " N"],
) -> float:
    """The sum of w c: added to the evidence of the rates it gives the evidence of the counts."""
    each = y * np.log(exposure) - gammaln(y + 1.0) + exposure * gammaln(y / exposure + 1.0)
    return float(weights @ each)


def shifted(latent: Latent, exposure: Float[np.ndarray, " N"]) -> Latent:
    """Mean and variance of f + log e, the latent function of the rate e r."""
    return latent[0] + np.log(exposure), latent[1]


class SourceOfRates:
    """Makes a source of counts, whose last feature is the exposure, a source of rates with
    weights.
    """

    exact_in_float32 = False

    def __init__(self, source: Source, names: tuple[str, ...]) -> None:
        self._source = source
        self.feature_names, self.n_features = names, len(names)
        self.n_rows, self.target_name = source.n_rows, source.target_name
        self.constant = 0.0  # of the last pass over the rows

    @classmethod
    def opened(
        cls, source: Any, target: Any, features: Sequence[Any] | None, weight: Any, exposure: Any
    ) -> "SourceOfRates":
        """Open a source with the exposure in the column of this name."""
        known = open_source(source, target, features, weight).feature_names
        if known is None or not isinstance(exposure, str):
            raise ValueError(
                "for a stream, exposure must be the name of a column, and this source has no "
                "column names. Use fit, or a source with named columns."
            )
        names = tuple(name for name in known if name != exposure)
        return cls(open_source(source, target, [*names, exposure], weight), names)

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        """The rows, piece by piece."""
        self.constant = 0.0
        for block in self._source.blocks(rows, keep=keep):
            exposure = block.X[:, -1]
            check_weights(exposure, "the exposure", block.place)
            if not np.all(exposure > 0):
                row = int(np.argmin(exposure))
                raise DataError(f"{block.place.row(row)}: the exposure is 0, not positive.")
            y = _counts(block)
            weights = np.ones(len(y)) if block.weights is None else block.weights
            self.constant += constant(y, weights, exposure)
            yield block._replace(
                X=np.ascontiguousarray(block.X[:, :-1]),
                labels=y / exposure,
                weights=weights * exposure,
            )


def _counts(block: Block) -> Float[np.ndarray, " N"]:
    try:
        return counts(block.labels)
    except (TypeError, ValueError) as error:
        raise DataError(f"{block.place}: {error} (row numbers count from there)") from None
