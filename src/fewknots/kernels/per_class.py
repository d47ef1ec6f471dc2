"""A kernel for each class: k_c(a, b). All other kernels are shared by the latent functions.

    GPClassifier([RBF(), Matern32(), RBF() + Linear()])      three classes, in their sorted order
    GPClassifier(RBF() + PerClass(Linear(), Linear()))       a shared part, and one per class

Such a kernel's matrix is a stack of one matrix for each class, (C, N, M), and its diagonal (C, N).
A list becomes nested pairs, `PerClass(PerClass(k1, k2), k3)`, so that parameters have names,
constraints and a place in a file, as in a sum.

It is useful if classes differ in kind: one changes over short distances and another is smooth. The
cost: kernel matrices and their factors, otherwise shared, are computed for each class, and there
are C times as many parameters to learn from the same rows.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .base import Kernel, Moved
from .combine import Pair, Product, Sum, as_kernel


class PerClass(Pair):
    """The kernels in `k1` (one or several), followed by those in `k2`.

    Examples
    --------
    >>> from fewknots import GPClassifier
    >>> from fewknots.kernels import RBF, Linear, as_kernels
    >>> as_kernels([RBF(lengthscale=1.0), RBF(lengthscale=2.0), Linear(variance=1.0)])
    [RBF(lengthscale=1), RBF(lengthscale=2), Linear(variance=1)]
    >>> clf = GPClassifier([RBF(), RBF(), Linear()])  # for three classes
    """

    def joined(self, one: Any, other: Any) -> Any:
        """Concatenate along the class axis; a single kernel's value becomes a stack of one."""
        both = (self.k1, one), (self.k2, other)
        stacks = [value[None] if count_kernels(k) == 1 else value for k, value in both]
        return jnp.concatenate(stacks)

    @property
    def of_all(self) -> Kernel:
        return Sum(self.k1.of_all, self.k2.of_all)

    def of_latent(self, number: int) -> Kernel:
        before = count_kernels(self.k1)
        if number < before:
            return self.k1.of_latent(number)
        return self.k2.of_latent(number - before)

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """The mean over all classes."""
        return self.of_all.moved(step, mean)

    def onnx_covariance(self, inputs: Any) -> Any:
        raise TypeError(_NO_ONNX)

    def onnx_diagonal(self, inputs: Any) -> Any:
        raise TypeError(_NO_ONNX)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, _listed(self)))}]"


_NO_ONNX = "a kernel for each class cannot be exported to ONNX: fit with one kernel for all."


def as_kernels(value: Any, names: Iterable[str] | None = None) -> Kernel:
    """As `as_kernel`, but a list or tuple means one kernel for each class.

    Examples
    --------
    >>> from fewknots.kernels import as_kernels
    >>> as_kernels(["rbf", "linear"])
    [RBF(), Linear()]
    >>> as_kernels("rbf")
    RBF()
    """
    if not isinstance(value, list | tuple):
        return as_kernel(value, names)
    if not value:
        raise ValueError(
            "kernel is an empty list. Give one kernel for each class, or one for all classes."
        )
    return reduce(PerClass, (as_kernel(kernel, names) for kernel in value))


def count_kernels(kernel: Kernel) -> int:
    """The number of kernels: one for each class, or 1 if all classes share it.

    Examples
    --------
    >>> from fewknots.kernels import as_kernels, count_kernels
    >>> count_kernels(as_kernels(["rbf", "linear", "rbf"]))
    3
    """
    counts = [
        count_kernels(value)
        for value in kernel.get_params(deep=False).values()
        if isinstance(value, Kernel)
    ]
    if isinstance(kernel, PerClass):
        return sum(counts)
    several = {count for count in counts if count > 1}
    if isinstance(kernel, Sum | Product) and len(several) > 1:
        raise ValueError(f"the parts of the kernel {kernel!r} have different numbers of classes.")
    return max(several, default=1)


def _listed(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, PerClass):
        return _listed(kernel.k1) + _listed(kernel.k2)
    return [kernel]
