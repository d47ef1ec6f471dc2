r"""Choosing the initial inducing points Z, and relocating idle ones during training.

**choose**: `kmeans` (the paper's), `greedy` conditional variance, or `random` rows.

**relocate**: gradients move Z only a limited distance, because the bound has many local optima in
Z. But for a given kernel and q the value of a point can be computed. A new point at x lowers κ_n,
the variance that Z does not explain at row n (features.py), by c(x_n, x)² / c(x, x), where c is
the covariance given Z. The derivative of the bound with respect to κ_n is -½ b_n, with b_n the
curvature of row n's likelihood (sparse_kl.py). So to first order the gain is

    gain(x) = ½ Σ_n b_n c(x_n, x)² / c(x, x),                                         (gain)

and removing the point m costs, with P = Kmm⁻¹,

    loss(m) = ½ Σ_n b_n (k(x_n, Z) P)²_m / P_mm.                                      (loss)

The least useful points move to where the gain is largest, as long as the gain is larger than the
loss.

Both place points on rows. If a model must not contain rows (`store_rows=False`), the points are
**displaced** a little.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .data.blocks import padded, rounded_up
from .kernels import Kernel
from .numerics.collector import collector_held
from .numerics.precision import compiled, for_platform

METHODS = ("kmeans", "greedy", "random")
_MOST_AUTOMATIC = 1000
_MOST_BY_MINIBATCHES = {"cpu": 300, "gpu": 500}
_DEGREES_PER_POINT = 0.5
_SMALL_LOOK = 1e8  # N M² for which a pass over all rows takes a fraction of a second
_MOST_ROWS = 4000
_MOST_CANDIDATES = 1000
_COSTLY = 1e7  # multiplications in one round of k-means
_FEW_ROUNDS = 10
_SMALLEST_SHARE = 1e-6  # relative to the prior variance: a smaller residual is rounding
_ROUNDED = 1e-5  # relative distance below which a point counts as the row itself
_DISPLACED = 0.05  # displacement, relative to the standard deviation of each input
_WORTHWHILE = 2.0  # the gain of a move must be this many times its loss


def automatic_count(n_rows: int, degrees: float = 0.0) -> int:
    """Number of inducing points for n distinct rows: 37 for 400, 108 for 10,000, at most 1000.

    With the cube root the cost of a pass over all rows, N M², grows less than quadratically in N.

    degrees : estimated degrees of freedom of the function, if known. If they are
        many, there are twice or four times as many points, as long as N M² stays small.
    """
    usual = int(np.clip(round(5.0 * n_rows ** (1.0 / 3.0)), 20, _MOST_AUTOMATIC))
    for count in (usual, 2 * usual):
        if degrees < _DEGREES_PER_POINT * count or n_rows * (2 * count) ** 2 > _SMALL_LOOK:
            return count
    return 4 * usual


def count_for_minibatches(n_rows: int, n_latent: int = 1) -> int:
    """The same for minibatches: three times as many, up to 300 on a CPU.

    More rows need more points, but the cost of a step grows with the square of their number, and
    too few steps are worse than too few points. On a CPU, training with 300 points takes a minute
    for three passes over a million rows. With several latent functions the limit is lower.
    """
    usual, most = automatic_count(n_rows), for_platform(_MOST_BY_MINIBATCHES)
    return min(max(usual, int(most / n_latent**0.5)), 3 * usual, most)


def choose(
    method: str,
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    weights: Float[np.ndarray, " N"],
    n_inducing: int,
    rng: np.random.RandomState,
) -> Float[np.ndarray, "M D"]:
    """Choose M initial inducing points for rows X with the given weights."""
    if method == "kmeans":
        W = np.asarray(kernel.coordinates(X))
        return _inputs_at(kernel, _kmeans(W, weights, n_inducing, rng), W, X)
    sample = _sample(len(X), _MOST_ROWS if method == "greedy" else n_inducing, weights, rng)
    if method == "greedy":
        sample = sample[greedy_variance(kernel, X[sample], n_inducing)]
    return X[sample]


def displaced(
    kernel: Kernel,
    points: Float[np.ndarray, "M D"],
    X: Float[np.ndarray, "N D"],
    rng: np.random.RandomState,
) -> Float[np.ndarray, "M D"]:
    """The points, each moved at random by a small part of the spread of the rows X.

    Then no point equals a row, except with negligible probability.
    """
    kernel = kernel.without_end()
    spread = np.std(kernel.coordinates(X), axis=0)
    spread = spread if np.any(spread > 0) else np.ones_like(spread)
    step = (_DISPLACED * spread * rng.normal(size=points.shape)).astype(points.dtype)
    return kernel.inputs_at(kernel.coordinates(points) + step)


def _inputs_at(
    kernel: Kernel,
    places: Float[np.ndarray, "M D"],
    W: Float[np.ndarray, "N D"],
    X: Float[np.ndarray, "N D"],
) -> Float[np.ndarray, "M D"]:
    """The inputs of `places`, points in coordinates; the rows are W in coordinates, X as inputs.

    A point that equals a row up to rounding becomes exactly that row, so that it is counted in
    `stored_rows_`.
    """
    if W is X:
        return places
    from sklearn.metrics import pairwise_distances_argmin_min  # imported here: slow, like KMeans

    found = np.clip(kernel.inputs_at(places.astype(np.float64)), X.min(axis=0), X.max(axis=0))
    nearest, distance = pairwise_distances_argmin_min(places, W.astype(places.dtype))
    is_row = distance <= _ROUNDED * (1.0 + np.linalg.norm(places, axis=1))
    found[is_row] = X[nearest[is_row]]
    return found


def _kmeans(X, weights, n_inducing, rng):
    with collector_held():
        from sklearn.cluster import KMeans  # imported here: slow, and not always needed

    rows = _sample(len(X), max(_MOST_ROWS, 50 * n_inducing), weights, rng)
    model, X, weights = KMeans(n_inducing, n_init=1, random_state=rng), X[rows], weights[rows]
    if X.size * n_inducing > _COSTLY:
        # k-means++ takes as long as the clustering, and with many rows it is not needed.
        model.set_params(init="random", max_iter=_FEW_ROUNDS)
        X = X.astype(np.float32)
    return model.fit(X, sample_weight=weights).cluster_centers_


def greedy_variance(
    kernel: Kernel, X: Float[np.ndarray, "N D"], n_inducing: int
) -> Int[np.ndarray, " M"]:
    """Choose rows one by one, each with the largest variance given those chosen before.

    This is Cholesky factorisation with pivoting, stopped after M columns: O(N M²).
    """
    residual = np.array(_diagonal(kernel, X), np.float64)
    floor = _SMALLEST_SHARE * residual.max()
    columns = np.zeros((len(X), n_inducing))
    chosen: list[int] = []
    for i in range(n_inducing):
        j = int(np.argmax(residual))
        column = np.asarray(_matrix(kernel, X, X[j : j + 1]))[:, 0]
        column = column - columns[:, :i] @ columns[j, :i]
        columns[:, i] = column / np.sqrt(max(residual[j], floor))
        residual = residual - columns[:, i] ** 2
        chosen.append(j)
        residual[chosen] = -np.inf
    return np.array(chosen)


def relocate(
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    curvature: Float[np.ndarray, " N"],
    Z: Float[np.ndarray, "M D"],
    rng: np.random.RandomState,
    off_rows: bool = False,
) -> tuple[Float[np.ndarray, "M D"], int]:
    """Z with idle points moved to where the gain is largest, and how many were moved.

    off_rows : move points near rows, not onto them.
    """
    if len(X) <= len(Z):
        return Z, 0
    rows = _sample(len(X), _MOST_ROWS, np.ones(len(X)), rng)
    candidates = np.sort(rng.choice(len(rows), min(_MOST_CANDIDATES, len(rows)), replace=False))
    X, b = X[rows], 0.5 * curvature[rows] * (len(X) / len(rows))
    most_moves = min(len(Z) // 2, len(candidates))
    K_z, Kmm, K_c = _matrices(kernel, X, Z, X[candidates])
    Kmm = Kmm + _SMALLEST_SHARE * np.mean(np.diagonal(Kmm)) * np.eye(len(Z))
    leaving, losses = _cheapest_to_lose(K_z, Kmm, b, most_moves)
    arriving, gains = _best_to_gain(K_c, candidates, K_z, Kmm, b, most_moves)
    moves = int(np.argmin(np.append(gains > _WORTHWHILE * losses, False)))
    moved = Z.copy()
    places = X[candidates[arriving[:moves]]]
    moved[leaving[:moves]] = displaced(kernel, places, X, rng) if off_rows else places
    return moved, moves


def _cheapest_to_lose(K_z, Kmm, b, count):
    """Points in the order of removal, and the (loss) of each when removed."""
    P = np.linalg.inv(Kmm)
    W = K_z @ P
    gone: list[int] = []
    losses = []
    for _ in range(count):
        scale = np.diagonal(P).copy()
        scale[gone] = 1.0
        loss = (b @ W**2) / scale
        loss[gone] = np.inf
        m = int(np.argmin(loss))
        gone.append(m)
        losses.append(loss[m])
        # Kmm without row and column m, inverted: a rank-one change of P.
        column, pivot = P[:, m].copy(), P[m, m]
        W = W - np.outer(W[:, m], column / pivot)
        P = P - np.outer(column, column / pivot)
    return np.array(gone, int), np.array(losses)


def _best_to_gain(K_c, candidates, K_z, Kmm, b, count):
    """Candidates in the order of addition, and the (gain) of each when added."""
    columns = np.linalg.solve(np.linalg.cholesky(Kmm), K_z.T).T  # c = K - columns columnsᵀ
    at_candidates = columns[candidates]
    diagonal = K_c[candidates, np.arange(len(candidates))]
    floor = _SMALLEST_SHARE * diagonal.max()
    variance = diagonal - np.sum(at_candidates**2, axis=1)  # c(x, x)
    residual = K_c - columns @ at_candidates.T  # c(x_n, x)
    taken: list[int] = []
    gains = []
    for _ in range(count):
        gain = (b @ residual**2) / np.maximum(variance, floor)
        gain[taken] = -np.inf
        j = int(np.argmax(gain))
        taken.append(j)
        gains.append(gain[j])
        column = residual[:, j] / np.sqrt(max(variance[j], floor))
        residual = residual - np.outer(column, column[candidates])
        variance = variance - column[candidates] ** 2
    return np.array(taken, int), np.array(gains)


def _sample(n_rows, size, weights, rng):
    """At most `size` distinct rows, drawn with probabilities proportional to the weights."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size, replace=False, p=weights / weights.sum()))


def _matrices(kernel: Kernel, X: Any, Z: Any, C: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel matrices between rows X and points Z, between the points, and between rows X and rows
    C.
    """
    sizes = (rounded_up(len(rows)) for rows in (X, C))  # padded, so that few programs are compiled
    found = _padded_matrices(kernel, *map(padded, (X, C), sizes), Z)
    K_z, K_c, Kmm = (np.asarray(K, np.float64) for K in found)
    return K_z[: len(X)], Kmm, K_c[: len(X), : len(C)]


@compiled
def _padded_matrices(kernel, X, C, Z):
    kernel = kernel.of_all
    return kernel(X, Z), kernel(X, C), kernel(Z, Z)


@compiled
def _matrix(kernel, A, B):
    return kernel.of_all(A, B)


@compiled
def _diagonal(kernel, A):
    return kernel.of_all.diagonal(A)
