r"""A monotone map of each input before another kernel sees it: k(a, b) = inner(w(a), w(b)).

Decision trees do not depend on the scale of an input, but a kernel does: if incomes range from 10³
to 10⁷, one lengthscale suits few of them. Here each input t, in robust standard deviations from
its median, becomes w(t) (signed_power.py), with one power of |t| on each side of the median. The
parameter of a side is positive, like all parameters: the slope of w near the median (where 1 +
3|t| = e):

| slope | power | w(t)                                                   |
|-------|-------|--------------------------------------------------------|
| 1     | 1     | t: no change                                           |
| 0.6   | ½     | a root for large |t|: long tails shrink              |
| 1/e   | 0     | logarithmic tails                                      |
| 0.14  | -1    | all large |t| are nearly the same              |
| 1.6   | 1½    | short sides become longer                              |

Slopes are leaves of the kernel, as lengthscales are, so they are trained, saved and explained with
it. Snoek et al. 2014 learned such maps for inputs in a box.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.fields import checked_columns, checked_parameter, column_choice, positive
from .base import Kernel, Moved
from .constraints import Constraint, Numbers
from .signed_power import BEND, derivative, unwarped, warped

_LOGARITHM = math.exp(-1.0)  # the slope of power 0
_NEARLY_LOGARITHM = 1e-4  # below this power ONNX uses the first terms of a series


class Warp(Kernel):
    """A kernel whose inputs each go through a monotone map first.

    kernel : the inner kernel, of the mapped inputs.
    below, above : positive numbers, one per warped input or one for all: the slopes below and above
        zero, where 1 + 3|t| = e. 1 changes nothing, 1/e is a logarithm.
    columns : names or numbers of the inputs that are warped, or None for all. The inner kernel
        gets all inputs, with unchanged numbers.

    Parameters of the inner kernel can be read from the warp: `warp.lengthscale`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RBF, Warp
    >>> kernel = Warp(RBF(lengthscale=1.0), above=0.3)  # long distances count less
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.92, 0.83],
           [0.92, 1.  , 0.98],
           [0.83, 0.98, 1.  ]], dtype=float32)
    """

    kernel: Any
    below: Any = positive(1.0)
    above: Any = positive(1.0)
    columns: Any = column_choice()

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "*C N M"]:
        return self.of_coordinates(self.coordinates(A), self.coordinates(B))

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "*C N"]:
        return self.of_coordinates.diagonal(self.coordinates(A))

    def __getattr__(self, name: str) -> Any:
        # Called for missing attributes. During construction there is no inner kernel yet.
        inner = self.__dict__.get("kernel")
        if isinstance(inner, Warp) or (isinstance(inner, Kernel) and name in inner.roles):
            return getattr(inner, name)
        raise AttributeError(f"neither a {type(self).__name__} nor its kernel has {name!r}.")

    # --- the map ----------------------------------------------------------------------------------

    @property
    def of_coordinates(self) -> Kernel:
        return self.kernel.of_coordinates

    @property
    def of_all(self) -> Kernel:
        return self.with_inner(self.of_coordinates.of_all)

    def of_latent(self, number: int) -> Kernel:
        return self.with_inner(self.of_coordinates.of_latent(number))

    def with_inner(self, kernel: Kernel) -> Kernel:
        inner = self.kernel.with_inner(kernel)
        return type(self)(inner, self.below, self.above, columns=self.columns)

    def coordinates(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "N D"]:
        """w(A), column by column."""
        return self.kernel.coordinates(self._replaced(A, warped(self.chosen(A), *self._slopes)))

    def inputs_at(self, W: Float[AnyArray, "N D"]) -> Float[AnyArray, "N D"]:
        """The inputs whose coordinates are W."""
        W = self.kernel.inputs_at(W)
        return self._replaced(W, unwarped(self.chosen(W), *self._slopes))

    def stretch(self, A: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        own = self._replaced(np.ones_like(A), derivative(self.chosen(A), *self._slopes))
        there = self._replaced(A, warped(self.chosen(A), *self._slopes))
        return own * self.kernel.stretch(there)

    def without_end(self) -> Kernel:
        """Replace bounded maps by logarithms, so that points can move freely in coordinates."""
        below, above = (np.maximum(slope, _LOGARITHM) for slope in self._slopes)
        return type(self)(self.kernel.without_end(), below, above, columns=self.columns)

    @property
    def _slopes(self) -> tuple[Any, Any]:
        return self.below, self.above

    def _replaced(self, A: Float[AnyArray, "N D"], own: Float[AnyArray, "N d"]) -> Any:
        """A copy of A with these values in the warped columns."""
        if self.columns is None:
            return own
        xp = np if isinstance(own, np.ndarray) else jnp
        both = xp.concatenate([A, own.astype(A.dtype)], axis=1)
        return both[:, np.asarray(self._places(A.shape[1]))]

    def _places(self, n_inputs: int) -> tuple[int, ...]:
        """The position of each input after the warped ones are appended on the right."""
        places = list(range(n_inputs))
        for number, column in enumerate(self.columns):
            places[column] = n_inputs + number
        return tuple(places)

    # --- the other methods of a kernel -----------------------------------------------------------

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> Kernel:
        """`spread` is that of the coordinates; every input has its own slopes, also with
        ard=False.
        """
        columns, size = self.columns, len(spread)
        if columns is not None:
            columns = checked_columns(self._label("columns"), columns, len(spread))
            size = len(columns)

        def slope(name: str) -> Float[np.ndarray, " d"]:
            value = getattr(self, name)
            value = value.begin(1.0) if isinstance(value, Constraint) else value
            return checked_parameter(self._label(name), value, 1.0, size)

        inner = self.kernel.prepared(spread, ard)
        return type(self)(inner, slope("below"), slope("above"), columns=columns)

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """Like the inner kernel's, for rows in coordinates."""
        return self.kernel.moved(step, mean)

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        return self.of_coordinates.randomness(random, n_inputs, size)

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        return self.of_coordinates.random_functions(self.coordinates(X), randomness)

    def n_functions(self, n_inputs: int, n_features: int) -> int:
        return self.of_coordinates.n_functions(n_inputs, n_features)

    def onnx_coordinates(self, X: Any, n_inputs: int) -> Any:
        """`coordinates` of a tensor: the map of its positive part minus that of its negative
        part.
        """
        chosen = tuple(range(n_inputs)) if self.columns is None else tuple(self.columns)
        own = X if self.columns is None else X.take_columns(chosen)
        below, above = (
            1.0 + np.log(np.broadcast_to(np.asarray(slope, np.float64), (1, len(chosen))))
            for slope in self._slopes
        )
        mapped = _onnx_side(own.maximum(0.0), above) - _onnx_side((-own).maximum(0.0), below)
        if self.columns is not None:
            mapped = X.beside(mapped).take_columns(self._places(n_inputs))
        return self.kernel.onnx_coordinates(mapped, n_inputs)

    def onnx_covariance(self, inputs: Any) -> Any:
        return self.of_coordinates.onnx_covariance(self._mapped(inputs))

    def onnx_diagonal(self, inputs: Any) -> Any:
        return self.of_coordinates.onnx_diagonal(self._mapped(inputs))

    def _mapped(self, inputs: Any) -> Any:
        n_inputs = inputs.shape[1]
        return inputs.mapped(lambda x: self.onnx_coordinates(x, n_inputs), n_inputs)


def _onnx_side(size: Any, power: Float[np.ndarray, "1 d"]) -> Any:
    """`warped` for sizes |t|, without branches for powers near zero."""
    is_zero = np.abs(power) < _NEARLY_LOGARITHM
    log = (1.0 + size * np.full_like(power, BEND)).applied("Log")
    z = log * np.where(is_zero, power, 0.0)
    series = log * (1.0 + z * (0.5 + z * (1.0 / 6.0 + z * (1.0 / 24.0))))
    others = np.where(is_zero, 1.0, power)
    powers = ((log * others).applied("Exp") - 1.0) / others
    return (series * is_zero.astype(float) + powers * (~is_zero).astype(float)) / np.full_like(
        power, BEND
    )


@dataclass(frozen=True)
class LearnedSlope(Constraint):
    """Prior of slopes, log slope ~ N(log start, spread²), and a range for them."""

    start: tuple[float, ...]
    high: tuple[float, ...]
    spread: float
    low: float

    @property
    def range(self) -> tuple[Numbers, Numbers]:
        return self.low, self.high

    @property
    def prior(self) -> tuple[Numbers, Numbers]:
        return self.start, self.spread**-2

    def begin(self, default: Any) -> Any:
        return self.start
