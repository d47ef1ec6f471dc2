r"""The nearest rows in the metric of a kernel, r² = Σ_d (a_d - b_d)² / lengthscale_d².

There are two searches, both exact. On a CPU, unless there are hundreds of inputs, a k-d tree
(SciPy's): building it takes half a second for a million rows, and a query tens of microseconds, a
third less if consecutive queries are close to each other. Otherwise all distances are computed,
block by block on the device, where most of the work is a reduction and not a sort:

    The rows are cut into chunks of 64. The k nearest rows lie in the k chunks whose nearest rows
    are nearest: the nearest row of any other chunk comes after k rows, one of each of these.
    So the best k of N/64 chunks are selected, and then the best k of 64k rows.

Distances are sums of squared differences, not |a|² - 2ab + |b|²: with a short lengthscale, rows are
thousands of lengthscales from the origin, and the digits that distinguish neighbours are lost in
the squares. With many inputs this does not happen, but differences would take too long: then the
product form finds twice as many rows as needed, and differences choose among those.

For a kernel that warps its inputs (kernels/warp.py) a_d and b_d are the warped inputs. Warps change
during training as lengthscales do. An index is used until, somewhere among the rows, a small
distance along one input has changed by half relative to one along another input.
"""

from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int
from scipy.spatial import cKDTree

from ..data.blocks import padded, row_slices
from ..data.row_draw import some_rows
from ..kernels import Kernel, scale_of_inputs
from ..numerics.precision import compiled, current_platform, for_platform

# In a learned metric few inputs matter, and a tree profits from that: with 54 inputs (covtype) it
# is twenty times faster than all distances, with 91 (adult) a little faster, with 784 (MNIST)
# slower (benchmarks/neighbours.py).
_MOST_INPUTS_FOR_A_TREE = 128
_MOST_INPUTS_FOR_DIFFERENCES = 32
_LEAF = 32
_FEW_QUERIES = 64
_INPUTS_OF_A_CELL = 8
_CHUNK = 64
_MOST_DISTANCES = {"cpu": 2**25, "gpu": 2**28}  # at a time
_QUERY_BLOCKS = (16, 256)
_NO_DISTANCE = 1e30  # a scale in which all rows are equal; finite, since scales are divided
_MOVED_FAR = float(np.log(1.5))
_PROBES = 200  # number of rows at which warps are compared


@runtime_checkable
class Search(Protocol):
    """Rows that can be searched, in one metric."""

    def nearest(self, queries: Float[np.ndarray, "Q D"], k: int) -> Int[np.ndarray, "Q k"]:
        """The numbers of the k rows nearest to each query."""
        ...


def metric(kernel: Kernel, n_features: int) -> Float[np.ndarray, " D"]:
    """The distance over which the kernel's functions change, for each input; 1 if unknown.

    Inputs that the kernel does not use have no effect on distances.
    """
    scale = scale_of_inputs(kernel, n_features, elsewhere=_NO_DISTANCE)
    return np.broadcast_to(np.asarray(1.0 if scale is None else scale, np.float64), n_features)


def uses_tree(n_features: int) -> bool:
    """Whether rows with this many inputs are searched by a tree on this device."""
    return current_platform() == "cpu" and n_features <= _MOST_INPUTS_FOR_A_TREE


def search(X: Float[np.ndarray, "N D"], scale: Float[np.ndarray, " D"]) -> Search:
    """A search among the rows X in units of `scale`."""
    return TreeSearch(X, scale) if uses_tree(X.shape[1]) else BlockSearch(X, scale)


class TreeSearch:
    """Search by a k-d tree whose cells are split in the middle, which is quick to build."""

    def __init__(self, X: Float[np.ndarray, "N D"], scale: Float[np.ndarray, " D"]):
        self.scale = scale
        self._tree = cKDTree(X / scale, leafsize=_LEAF, balanced_tree=False, compact_nodes=False)

    def nearest(self, queries: Float[np.ndarray, "Q D"], k: int) -> Int[np.ndarray, "Q k"]:
        at = queries / self.scale
        if len(at) <= _FEW_QUERIES:  # for fewer queries sorting and threads take longer
            return self._tree.query(at, k)[1].reshape(len(at), k).astype(np.int32)
        order, found = _walk(at), np.empty((len(at), k), np.int32)
        found[order] = self._tree.query(at[order], k, workers=-1)[1].reshape(len(at), k)
        return found


def _walk(at: Float[np.ndarray, "Q D"]) -> Int[np.ndarray, " Q"]:
    """An order of queries by cells, so that much of the tree is still in the cache.

    The side of a cell is a lengthscale; the inputs with the largest spread come first.
    """
    widest = np.argsort(np.ptp(at, axis=0))[-_INPUTS_OF_A_CELL:]
    return np.lexsort(np.floor(at[:, widest]).T)


class BlockSearch:
    """Search by distances to all rows, on the device that JAX uses."""

    def __init__(self, X: Float[np.ndarray, "N D"], scale: Float[np.ndarray, " D"]):
        self.scale = scale.astype(X.dtype)
        size = -(-len(X) // _CHUNK) * _CHUNK
        self._n_rows = len(X)
        self._centre = X.mean(axis=0)
        self._rows = jnp.asarray(padded(X - self._centre, size))
        self._lengths: tuple[np.ndarray, Array] | None = None

    def nearest(self, queries: Float[np.ndarray, "Q D"], k: int) -> Int[np.ndarray, "Q k"]:
        most = max(1, for_platform(_MOST_DISTANCES) // len(self._rows))
        size = min(most, next((n for n in _QUERY_BLOCKS if len(queries) <= n), _QUERY_BLOCKS[-1]))
        found = np.empty((len(queries), k), np.int32)
        for some in row_slices(len(queries), size):
            block = padded(queries[some] - self._centre, size).astype(self._rows.dtype)
            numbers = _nearest(k, self._rows, self._n_rows, self._squares(), self.scale, block)
            found[some] = np.asarray(numbers)[: some.stop - some.start]
        return found

    def _squares(self) -> Float[Array, " N"] | None:
        """Each row's squared length, computed once for each scale, if distances use products."""
        if self._rows.shape[1] <= _MOST_INPUTS_FOR_DIFFERENCES:
            return None
        if self._lengths is None or self._lengths[0] is not self.scale:
            self._lengths = self.scale, _squared_lengths(self._rows, self.scale)
        return self._lengths[1]


@compiled
def _squared_lengths(rows, scale) -> Float[Array, " N"]:
    return jnp.sum(jnp.square(rows / scale), axis=1)


@partial(compiled, static_argnums=0)
def _nearest(k: int, rows, n_rows, squares, scale, queries) -> Int[Array, "Q k"]:
    size = len(rows)
    by_difference = squares is None
    wanted = k if by_difference else min(2 * k, size)
    if by_difference:
        columns = zip((queries / scale).T, (rows / scale).T, strict=True)
        distances: Any = sum(jnp.square(q[:, None] - r[None, :]) for q, r in columns)
        of_rows = jnp.zeros(size, rows.dtype)
    else:  # only the queries are scaled, twice, since there are fewer of them
        distances, of_rows = (-2.0 * queries / scale / scale) @ rows.T, squares
    near = _smallest(distances, jnp.where(jnp.arange(size) < n_rows, of_rows, jnp.inf), wanted)
    if by_difference:
        return near
    exact = lax.map(
        lambda pair: jnp.sum(jnp.square((rows[pair[1]] - pair[0]) / scale), axis=1),
        (queries, near),
    )
    exact = jnp.where(near < n_rows, exact, jnp.inf)
    return jnp.take_along_axis(near, lax.top_k(-exact, k)[1], axis=1)


def _smallest(
    distances: Float[Array, "Q N"], of_rows: Float[Array, " N"], k: int
) -> Int[Array, "Q k"]:
    """Positions of the k smallest of each row of `distances + of_rows`.

    This sum is never stored: it would be one more array of the size of the largest one.
    """
    n_queries, size = distances.shape
    n_chunks = size // _CHUNK
    if n_chunks <= 2 * k:
        return lax.top_k(-(distances + of_rows), k)[1].astype(jnp.int32)
    chunked, of_rows = (a.reshape(-1, n_chunks, _CHUNK) for a in (distances, of_rows))
    _, chunks = lax.top_k(-jnp.min(chunked + of_rows, axis=2), k)
    inside = jnp.take_along_axis(chunked, chunks[:, :, None], axis=1) + of_rows[0, chunks]
    _, places = lax.top_k(-inside.reshape(n_queries, k * _CHUNK), k)
    chunk = jnp.take_along_axis(chunks, places // _CHUNK, axis=1)
    return (chunk * _CHUNK + places % _CHUNK).astype(jnp.int32)


def without(own: Int[np.ndarray, " Q"], found: Int[np.ndarray, "Q k"]) -> Int[np.ndarray, "Q k-1"]:
    """The neighbours of rows among all rows, without the rows themselves.

    A row with many copies may not be among its own neighbours; then the last neighbour is dropped.
    """
    is_self = found == own[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return found[~is_self].reshape(len(found), -1)


class Metric:
    """The metric of a kernel: the scale of each input, and the kernel's warps."""

    def __init__(self, kernel: Kernel, n_features: int):
        self.kernel = kernel
        self.scale = metric(kernel, n_features)
        self.is_warped = kernel.of_coordinates is not kernel

    def coordinates(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """The rows in coordinates, still to be divided by `scale`."""
        return np.asarray(self.kernel.coordinates(X))

    def moved_from(self, other: "Metric", probes: Float[np.ndarray, "P D"]) -> float:
        """The largest change of one input's distances relative to another's, as a logarithm.

        A common factor does not count.
        """
        longer = np.log(self.scale / other.scale)
        if self.is_warped:
            ways = self.kernel.stretch(probes) / other.kernel.stretch(probes)
            return float(np.ptp(longer - np.log(ways)))
        return float(np.ptp(longer))

    def within_reach(self, X: Float[np.ndarray, "N D"]) -> Search:
        """An index of the rows."""
        return search(self.coordinates(X), self.scale)


class MovingSearch:
    """A search in a metric that changes a little between calls.

    A tree is rebuilt only when one lengthscale has changed by half relative to another; until then
    it gives twice as many rows as needed, and the nearest of them in the current metric are taken.
    With `part`, the numbers of some rows, only these rows are found.
    """

    def __init__(
        self,
        X: Float[np.ndarray, "N D"],
        metric: Metric,
        part: Int[np.ndarray, " n"] | None = None,
    ):
        self.X = X if part is None else X[part]
        self.part = part
        self._probes = X[some_rows(len(X), _PROBES)]
        self._move(metric)

    def _move(self, metric: Metric) -> None:
        self.metric = metric
        self._search = metric.within_reach(self.X)

    def nearest(
        self, queries: Float[np.ndarray, "Q D"], k: int, metric: Metric
    ) -> Int[np.ndarray, "Q k"]:
        """The k rows nearest to each query in the current metric."""
        found = self._nearest(queries, k, metric)
        return found if self.part is None else self.part[found].astype(found.dtype)

    def _nearest(
        self, queries: Float[np.ndarray, "Q D"], k: int, metric: Metric
    ) -> Int[np.ndarray, "Q k"]:
        if isinstance(self._search, BlockSearch) and not metric.is_warped:
            self._search.scale = metric.scale.astype(self.X.dtype)
            return self._search.nearest(queries, k)
        if metric.moved_from(self.metric, self._probes) > _MOVED_FAR:
            self._move(metric)
        seen = self.metric.coordinates(queries)
        if metric.moved_from(self.metric, self._probes) == 0.0:
            return self._search.nearest(seen, k)
        found = self._search.nearest(seen, min(2 * k, len(self.X)))
        queries, rows = metric.coordinates(queries), self._as_seen_now(found, metric)
        apart = (rows - queries[:, None]) / metric.scale.astype(self.X.dtype)
        distances = np.einsum("qkd,qkd->qk", apart, apart)
        chosen = np.argpartition(distances, k - 1, axis=1)[:, :k]
        return np.take_along_axis(found, chosen, axis=1)

    def _as_seen_now(self, found: Int[np.ndarray, "Q k"], metric: Metric) -> Any:
        """The rows with these numbers; each is warped once, even if found several times."""
        if not metric.is_warped:
            return self.X[found]
        numbers, place = np.unique(found, return_inverse=True)
        return metric.coordinates(self.X[numbers])[place.reshape(found.shape)]
