r"""Which inputs are warped, their units, and the initial slopes.

`warp="auto"` warps inputs with long tails: those that become closer to normal with a power below 1
on one of their sides. Other inputs are not warped: with few rows, their slopes would only overfit.
Not warped either: an input with fewer than ten distinct values (a level's 0 and 1, a grade from 1
to 5), and an input that a part of the kernel needs unchanged (a period is in the user's units).
With learn_kernel=False or standardize=False nothing is warped.

A warped input is centred at its median and scaled by a robust standard deviation
(data/quantiles.py); all others have mean 0 and standard deviation 1. The initial slopes make the
warped input as close to normal as possible: of a few slopes for each side, those for which its
quantiles correlate best with those of a normal variable (probability plot correlation, Filliben
1975). Training starts there, with the prior log slope ~ N(log of the start, ¼²): few rows change a
power little, many rows as much as needed. (Of the spreads ½, ¼ and 0, ¼ predicted best on
generated and small real tables.)

Everything is computed from the same rows, drawn by their numbers, wherever the rows are kept.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ..data.quantiles import centre_and_scale, has_many_values, quantiles
from ..data.row_draw import some_rows
from ..data.standardise import Standardiser
from ..inference.sites import Rows
from ..kernels import Kernel, Warp, as_kernels
from ..kernels.signed_power import BEND, warped
from ..kernels.warp import LearnedSlope
from ..numerics.fields import checked_columns
from ..training.row_sources import Encode, RowSource
from .settings import FitSettings

_SOME_ROWS = 5000
_LEAST_VALUES = 10
_LEVELS = np.arange(1, 100) / 100.0
_POWERS = (1.0, 0.75, 0.5, 0.25, 0.0, -0.5, -1.0, -2.0)  # of equal ones the first is taken
_SPREAD = 0.25
_LOWEST_POWER, _HIGHEST_POWER = -4.0, 3.0
_FAR, _FARTHEST = 30.0, 1e6  # largest |w| of a row of the fit: at the start, and in training
# Least gains of correlation for a warp. The second is what a normal variable's rows reach by
# chance.
_WORTH_A_WARP, _TIMES_ROWS = 1e-3, 2.0


class Shape(NamedTuple):
    """The inputs that are warped, and the priors of their slopes."""

    columns: tuple[int, ...]
    below: LearnedSlope
    above: LearnedSlope
    spread: tuple[float, ...]  # of every input under the initial warps

    def around(self, kernel: Kernel) -> Warp:
        """The kernel with its inputs warped."""
        every = len(self.columns) == len(self.spread)
        return Warp(kernel, self.below, self.above, columns=None if every else self.columns)


def warped_units(
    settings: FitSettings,
    source: RowSource,
    encode: Encode,
    standardiser: Standardiser,
) -> tuple[Standardiser, Shape | None]:
    """The units of a fit with warps, and its initial warps; None if there are none."""
    if settings.warp is None or not (settings.standardize and settings.learn_kernel):
        return standardiser, None
    candidates = list(range(source.n_features))
    if not settings.chooses_kernel:
        kernel = as_kernels(settings.kernel, source.feature_names)
        candidates = _inputs_that_may_be_warped(kernel, source.n_features)
    if not candidates:
        return standardiser, None
    rows = _some_rows(source, encode)
    many = has_many_values(rows.X[:, candidates], rows.weights, _LEAST_VALUES)
    columns = np.array(candidates)[many]
    if not len(columns):
        return standardiser, None
    centre, scale = centre_and_scale(rows.X[:, columns], rows.weights)
    below, above = starting_powers((rows.X[:, columns] - centre) / scale, rows.weights)
    long = (below < 1.0) | (above < 1.0)
    if not long.any():
        return standardiser, None
    chosen = columns[long].tolist()
    standardiser = standardiser.with_columns(chosen, centre[long], scale[long])
    return standardiser, _shape(chosen, standardiser, rows)


def shape_as_before(
    kernel: Kernel, source: RowSource, encode: Encode, standardiser: Standardiser
) -> Shape | None:
    """The slopes and their priors for a warm start, in the units of the earlier fit."""
    if not isinstance(kernel, Warp):
        return None
    every = range(source.n_features) if kernel.columns is None else kernel.columns
    return _shape(list(every), standardiser, _some_rows(source, encode))


def _some_rows(source: RowSource, encode: Encode) -> Rows:
    """Some rows in the user's units, the same ones wherever the rows are kept."""
    numbers = np.sort(some_rows(source.n_rows, _SOME_ROWS))
    rows = source.table(Standardiser.identity(source.n_features), encode).take(numbers)
    counted = np.asarray(rows.weights) > 0
    return Rows(*(np.asarray(column, np.float64)[counted] for column in rows))


def _inputs_that_may_be_warped(kernel: Kernel, n_inputs: int) -> list[int]:
    """The inputs that may be warped; None if the kernel has warps of its own."""
    if any(isinstance(part, Warp) for part in _all_kernels(kernel)):
        return []
    left = set(range(n_inputs))
    for part in kernel.parts():
        if not part.may_be_warped:
            columns = part.columns
            label = f"{type(part).__name__}.columns"
            used = range(n_inputs) if columns is None else checked_columns(label, columns, n_inputs)
            left -= set(used)
    return sorted(left)


def _all_kernels(kernel: Kernel) -> list[Kernel]:
    inner = [v for v in kernel.get_params(deep=False).values() if isinstance(v, Kernel)]
    return [kernel, *(other for one in inner for other in _all_kernels(one))]


def _shape(columns: list[int], standardiser: Standardiser, rows: Rows) -> Shape:
    T = standardiser(rows.X)[:, columns]
    below, above = starting_powers(T, rows.weights)
    farthest = np.max(np.abs(T), axis=0)
    first, high = _power_to_reach(_FAR, farthest), _power_to_reach(_FARTHEST, farthest)

    def learned(slopes: Float[np.ndarray, " d"]) -> LearnedSlope:
        highest = tuple(np.exp(high - 1.0).tolist())
        return LearnedSlope(
            tuple(slopes.tolist()), highest, _SPREAD, float(np.exp(_LOWEST_POWER - 1.0))
        )

    slopes = [np.exp(np.minimum(power, first) - 1.0) for power in (below, above)]
    spread = np.ones(rows.X.shape[1])
    spread[columns] = Standardiser.fitted(warped(T, *slopes), rows.weights).scale
    return Shape(tuple(columns), learned(slopes[0]), learned(slopes[1]), tuple(spread.tolist()))


def _power_to_reach(far: float, farthest: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """The power with which the farthest row stays within the limit."""
    return np.minimum(_HIGHEST_POWER, np.log(BEND * far) / np.log1p(BEND * farthest))


def starting_powers(
    T: Float[np.ndarray, "N d"], weights: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """The powers below and above zero for which each column is closest to normal.

    T : rows in robust units.
    """
    q = quantiles(T, weights, _LEVELS)
    normal = ndtri(_LEVELS) / np.linalg.norm(ndtri(_LEVELS))
    # a power changes one side only, so each side is computed once
    sides = {power: _warped(q, power) for power in _POWERS}
    best = _correlation(sides[1.0], normal) + _WORTH_A_WARP + _TIMES_ROWS / len(T)
    below, above = np.ones(T.shape[1]), np.ones(T.shape[1])
    for one in _POWERS:
        for other in _POWERS:
            found = _correlation(np.where(q < 0, sides[one], sides[other]), normal)
            is_better = found > best
            best = np.where(is_better, found, best)
            below, above = np.where(is_better, one, below), np.where(is_better, other, above)
    return below, above


def _warped(q: Float[np.ndarray, "P d"], power: float) -> Any:
    slope = np.asarray(np.exp(power - 1.0))
    return warped(q, slope, slope)


def _correlation(q: Float[np.ndarray, "P d"], normal: Float[np.ndarray, " P"]) -> Any:
    away = q - q.mean(axis=0)
    length = np.linalg.norm(away, axis=0)
    return np.where(length > 0, normal @ away / np.where(length > 0, length, 1.0), 0.0)
