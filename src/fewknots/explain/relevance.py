r"""Expected change of the latent function along each input, from the kernel alone.

Move row x by one standard deviation s_d of input d, to x'. (If the kernel warps its inputs: of the
warped input.) Under the prior, the function changes by

    √E[(f(x') - f(x))²] = √(k(x, x) + k(x', x') - 2 k(x, x')).

For a stationary kernel this is √(2v(1 - ρ(s_d²/ℓ_d²))): close to 0 for an input with a long
lengthscale, and √(2v) for an input whose lengthscale is much shorter than s_d. For a linear kernel
it is s_d √variance_d. Three numbers for each input are enough: E k(x, x), E k(x', x') and
E k(x, x'). For a sum of kernels they are sums, for a product (assuming independent factors) they
are products. Every kernel computes its own (`Kernel.moved`).

This describes the prior: f can change a lot along an input that has no information about the
labels. importance.py measures what predictions lose without an input.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..kernels import Kernel
from ..numerics.precision import computing_in
from .unnamed_rows import UnnamedRows, check_rows


class Relevance(NamedTuple):
    """One number for each input, in the classifier's order.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.kernel_relevance(rows).names
    ('x0', 'x1')
    """

    names: tuple[str, ...]
    change: Float[np.ndarray, " D"]  # of f, over one standard deviation of the input
    per_input: bool  # False: the kernel treats all inputs equally

    @property
    def share(self) -> Float[np.ndarray, " D"]:
        """The squared changes, as shares of their sum."""
        squared = np.square(self.change)
        return squared / max(squared.sum(), np.finfo(float).tiny)


def kernel_relevance(rows: UnnamedRows) -> Relevance:
    """The expected change of f over one standard deviation of each input among these rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.kernel_relevance(rows).change > 0
    array([ True,  True])
    """
    check_rows(rows, classifier=False)
    standardiser = rows.classifier._standardiser
    kernel = rows.classifier.kernel_
    W = np.asarray(kernel.coordinates(standardiser(rows.sample(10_000))))
    with computing_in(np.dtype(np.float64)):  # 1 - ρ loses digits for a long lengthscale
        found = kernel.moved(W.std(axis=0), W.mean(axis=0))
    change = np.sqrt(np.maximum(found.still + found.moved - 2.0 * found.across, 0.0))
    return Relevance(rows.names, change, has_ard(kernel))


def has_ard(kernel: Kernel) -> bool:
    """Whether a part of the kernel has one parameter for each input, or uses chosen columns."""
    leaves = jax.tree.leaves(kernel.of_coordinates)
    per_input = any(np.ndim(parameter) > 0 for parameter in leaves)
    return per_input or any(part.columns is not None for part in kernel.parts())


def strongest(relevance: Relevance) -> list[int]:
    """The inputs by descending expected change of f.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> sorted(explain.strongest(explain.kernel_relevance(rows)))
    [0, 1]
    """
    return [int(column) for column in np.argsort(-relevance.change, kind="stable")]
