r"""How far the function is expected to move along each input, by the kernel alone.

Let row x move by one standard deviation s_d of input d, to x'. The function
is then expected, before it has seen a label, to change by

    √E[(f(x') - f(x))²] = √(k(x, x) + k(x', x') - 2 k(x, x')).

For a stationary kernel that is √(2v(1 - ρ(s_d²/ℓ_d²))): close to 0 for an input whose lengthscale
has grown long, and √(2v) for one along which f forgets itself within s_d. For a linear kernel it
is s_d √variance_d. Three numbers for each input, E k(x, x), E k(x', x') and E k(x, x'), are enough:
those of a sum are sums, those of a product (taking its factors as independent) products.

It is a statement about the prior: an input can move f a lot and yet tell nothing about the labels.
What predictions lose without an input is in importance.py.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..kernels import Constant, Kernel, Linear, Product, Sum
from ..kernels.stationary import Stationary
from ..numerics.precision import computing_in
from .unnamed_rows import UnnamedRows, check_rows


class Relevance(NamedTuple):
    """One number for each input, in the classifier's order."""

    names: tuple[str, ...]
    change: Float[np.ndarray, " D"]  # of f, over one standard deviation of the input
    per_input: bool  # False: the kernel treats all inputs alike

    @property
    def share(self) -> Float[np.ndarray, " D"]:
        """The squared changes, as shares of their sum."""
        squared = np.square(self.change)
        return squared / max(squared.sum(), np.finfo(float).tiny)


class _Moved(NamedTuple):
    """E k(x, x), E k(x, x') and E k(x', x') for a step along each input."""

    still: Float[np.ndarray, " D"]
    across: Float[np.ndarray, " D"]
    moved: Float[np.ndarray, " D"]

    def change(self) -> Float[np.ndarray, " D"]:
        return np.sqrt(np.maximum(self.still + self.moved - 2.0 * self.across, 0.0))


def kernel_relevance(rows: UnnamedRows) -> Relevance:
    """The expected change of f as each input moves by its standard deviation among these rows."""
    check_rows(rows, classifier=False)
    standardiser = rows.classifier._standardiser
    Z = standardiser(rows.sample(10_000))
    with computing_in(np.dtype(np.float64)):  # 1 - ρ of a long lengthscale is a small difference
        moved = _moved(rows.classifier.kernel_, Z.std(axis=0), Z.mean(axis=0))
    return Relevance(rows.names, moved.change(), has_ard(rows.classifier.kernel_))


def has_ard(kernel: Kernel) -> bool:
    """Whether some part of the kernel has a parameter of its own for each input."""
    if isinstance(kernel, Sum | Product):
        return has_ard(kernel.k1) or has_ard(kernel.k2)
    return any(np.ndim(value) > 0 for value in kernel.get_params(deep=False).values())


def strongest(relevance: Relevance) -> list[int]:
    """The inputs, the one along which f moves farthest first."""
    return [int(column) for column in np.argsort(-relevance.change, kind="stable")]


def _moved(kernel: Any, step: np.ndarray, mean: np.ndarray) -> _Moved:
    everywhere = np.ones(len(step))
    if isinstance(kernel, Sum):
        parts = _moved(kernel.k1, step, mean), _moved(kernel.k2, step, mean)
        return _Moved(*(a + b for a, b in zip(*parts, strict=True)))
    if isinstance(kernel, Product):
        parts = _moved(kernel.k1, step, mean), _moved(kernel.k2, step, mean)
        return _Moved(*(a * b for a, b in zip(*parts, strict=True)))
    if isinstance(kernel, Stationary):
        still = float(kernel.variance) * everywhere
        r2 = np.square(step / np.asarray(kernel.lengthscale, np.float64))
        correlation = np.asarray(kernel.correlation(jnp.asarray(r2[None])), np.float64)[0]
        return _Moved(still, still * correlation, still)
    if isinstance(kernel, Linear):
        variance = np.asarray(kernel.variance, np.float64) * everywhere
        still = np.sum(variance * (np.square(step) + np.square(mean))) * everywhere
        lean = variance * step * mean
        return _Moved(still, still + lean, still + 2.0 * lean + variance * np.square(step))
    if isinstance(kernel, Constant):
        still = float(kernel.variance) * everywhere
        return _Moved(still, still, still)
    raise TypeError(f"the relevance of inputs to a {type(kernel).__name__} is not known.")
