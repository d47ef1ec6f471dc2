r"""How far the function is expected to move along each input, by the kernel alone.

Let row x move by one standard deviation s_d of input d, to x'. The function
is then expected, before it has seen a label, to change by

    √E[(f(x') - f(x))²] = √(k(x, x) + k(x', x') - 2 k(x, x')).

For a stationary kernel that is √(2v(1 - ρ(s_d²/ℓ_d²))): close to 0 for an input whose lengthscale
has grown long, and √(2v) for one along which f forgets itself within s_d. For a linear kernel it
is s_d √variance_d. Three numbers for each input, E k(x, x), E k(x', x') and E k(x, x'), are enough:
those of a sum are sums, those of a product (taking its factors as independent) products. Every
kernel gives its own (`Kernel.moved`).

It is a statement about the prior: an input can move f a lot and yet tell nothing about the labels.
What predictions lose without an input is in importance.py.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..kernels import Kernel
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


def kernel_relevance(rows: UnnamedRows) -> Relevance:
    """The expected change of f as each input moves by its standard deviation among these rows."""
    check_rows(rows, classifier=False)
    standardiser = rows.classifier._standardiser
    Z = standardiser(rows.sample(10_000))
    with computing_in(np.dtype(np.float64)):  # 1 - ρ of a long lengthscale is a small difference
        found = rows.classifier.kernel_.moved(Z.std(axis=0), Z.mean(axis=0))
    change = np.sqrt(np.maximum(found.still + found.moved - 2.0 * found.across, 0.0))
    return Relevance(rows.names, change, has_ard(rows.classifier.kernel_))


def has_ard(kernel: Kernel) -> bool:
    """Whether some part of the kernel has a parameter of its own for each input, or its columns."""
    per_input = any(np.ndim(parameter) > 0 for parameter in jax.tree.leaves(kernel))
    return per_input or any(part.columns is not None for part in kernel.parts())


def strongest(relevance: Relevance) -> list[int]:
    """The inputs, the one along which f moves farthest first."""
    return [int(column) for column in np.argsort(-relevance.change, kind="stable")]
