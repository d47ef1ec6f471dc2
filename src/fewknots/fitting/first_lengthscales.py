r"""Initial lengthscales of the default kernel: several are tried, the best is taken.

From lengthscales that are far too long, a fit may end in a local maximum that explains nothing:
fine structure looks like noise. So before a fit a few starts are compared on at most 512 rows, by
the evidence of Gaussian regression on the labels. This is not a model of classes, but it finds the
same structure, and costs one Cholesky factor.

Let T be the centred targets (N×C, one column for each class), K the kernel matrix, and let the
noise variance be λ times the kernel's. With the overall scale at its best value, eq. 2.30 of
Rasmussen & Williams becomes, up to a constant,

    log p(T) = -½ N C log tr(Tᵀ (K + λI)⁻¹ T) - ½ C log |K + λI|.                                (1)

λ → ∞ is the model that ignores the inputs. The lengthscales' log prior is added, as in training: it
prevents a start from being chosen because it fits the noise of a few rows.

**The starts.** All lengthscales shorter by the same factor; or, with several inputs, only those of
some inputs shorter and the others three times as long. These inputs are those along which
neighbours have similar labels, and the pair of inputs in whose plane they have (a checkerboard
does not show along either input). Similarity is measured by the ratio of von Neumann (1941), the
mean squared difference of neighbours' targets over twice their variance: 1 ± 1/√N if the inputs
are irrelevant.

Nothing here is random, so a resumed run has the same start.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh
from scipy.spatial import cKDTree

from ..data.blocks import padded, rounded_up
from ..data.row_draw import some_rows
from ..inference.sites import Rows
from ..kernels import Kernel
from ..kernels.automatic import lengthscales_of, with_lengthscales
from ..numerics.precision import compiled, computing_in, one_lapack_thread
from ..training.parameters import Constraints, constraints_of, log_prior

_MOST_ROWS = 512
_FEWEST_ROWS = 20
_SHORTER = 0.5 ** np.arange(7)  # down to a 64th
_FAR = 3.0  # factor for the lengthscales of inputs that a start leaves out
_NOISE = (0.03, 0.3, 3.0)  # values of λ, times the kernel's mean variance
_CLEARLY = 3.0  # in standard deviations of von Neumann's ratio
_CLEARLY_OF_PAIRS = 4.5  # there are many pairs
_MOST_INPUTS_FOR_PAIRS = 12
_PATIENCE = 2  # consecutive starts worse than an earlier one of their family: then stop
_WORTHWHILE = 3.0  # nats by which another start must be better than the default one


class Tried(NamedTuple):
    """A start and its score."""

    kernel: Kernel
    evidence: float  # eq. (1) minus its value for noise alone, plus the log prior
    noise: float  # the best λ, times the kernel's variance


class Found(NamedTuple):
    """The best start and its effective number of degrees of freedom.

    degrees : Σ e / (e + λ) over the eigenvalues e of K; 0 for the default start.
    """

    kernel: Kernel
    degrees: float


# Values too large to compute with have no evidence: keep the default start; the fit reports the
# error.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
@one_lapack_thread()
def screened(known: Kernel, kernel: Kernel, rows: Rows, n_latent: int) -> Found:
    """Choose the start with the best score on some of the rows.

    known : the kernel with its priors.
    kernel : the default start.
    """
    counted = np.flatnonzero(rows.weights > 0)
    counted = counted[np.sort(some_rows(len(counted), _MOST_ROWS))]
    weights = rows.weights[counted].astype(np.float64)
    X = np.asarray(kernel.coordinates(rows.X[counted].astype(np.float64)))
    targets = _targets(rows.y[counted], weights, n_latent)
    if len(counted) < _FEWEST_ROWS or not np.any(targets):
        return Found(kernel, 0.0)
    inner = kernel.of_coordinates
    constraints = constraints_of(known.of_coordinates, inner)

    def tried(start: Kernel) -> Tried:
        found = _regression(start, X, weights, targets)
        return found._replace(evidence=found.evidence + _log_prior(start, constraints))

    best = usual = tried(inner)
    for family in _families(X, targets, lengthscales_of(inner)):
        evidence, worse = -np.inf, 0
        for lengthscales in family:
            now = tried(with_lengthscales(inner, lengthscales))
            if now.evidence > max(best.evidence, usual.evidence + _WORTHWHILE):
                best = now
            worse = 0 if now.evidence > evidence else worse + 1
            evidence = max(evidence, now.evidence)
            if worse == _PATIENCE:
                break
    if best is usual:
        return Found(kernel, 0.0)
    return Found(kernel.with_inner(best.kernel), _degrees(best, X, weights))


def _targets(
    y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"], n_latent: int
) -> Float[np.ndarray, "N C"]:
    """The centred targets; one column for each of several classes."""
    columns = y[:, None].astype(np.float64)
    if n_latent > 1:
        columns = (columns == np.arange(n_latent)).astype(np.float64)
    return columns - np.average(columns, axis=0, weights=weights)


def _regression(kernel: Kernel, X, weights, targets) -> Tried:
    """Eq. (1) at the best λ; the noise of a row with weight w is λ/w."""
    n, n_targets = targets.shape
    K, T = _weighted(kernel, X, weights), np.sqrt(weights)[:, None] * targets
    variance = np.trace(K) / n
    best, noise = -np.inf, np.inf
    for level in _NOISE:
        A = K + level * variance * np.eye(n)
        try:
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        fit = np.sum(T * cho_solve(factor, T, check_finite=False))
        half_log_det = np.sum(np.log(np.diagonal(factor[0])))
        evidence = -0.5 * n * n_targets * np.log(fit) - n_targets * half_log_det
        if evidence > best:
            best, noise = evidence, level * variance
    nothing = -0.5 * n * n_targets * np.log(np.sum(T**2))
    return Tried(kernel, float(best - nothing), noise)


def _log_prior(kernel: Kernel, constraints: Constraints | None) -> float:
    if constraints is None:
        return 0.0
    return float(log_prior(jax.tree.map(np.log, kernel), constraints)[0])


def _weighted(kernel: Kernel, X, weights) -> Float[np.ndarray, "N N"]:
    """The kernel matrix, times the square roots of both rows' weights."""
    n, root = len(X), np.sqrt(weights)[:, None]
    with computing_in(np.dtype(np.float64)):
        K = np.asarray(_matrix(kernel, padded(X, rounded_up(n))))[:n, :n]
    return root * K * root.T


def _degrees(start: Tried, X, weights) -> float:
    values = np.maximum(eigvalsh(_weighted(start.kernel, X, weights)), 0.0)
    return float(np.sum(values / (values + start.noise)))


@compiled
def _matrix(kernel, X):
    return kernel(X, X)


# --- the starts to be tried -----------------------------------------------------------------------


def _families(X, targets, usual) -> Iterator[Iterator[Any]]:
    """Sets of inputs, and for each the lengthscales from long to short."""
    yield (usual * shorter for shorter in _SHORTER[1:])
    n_inputs = X.shape[1]
    if np.ndim(usual) == 0 or n_inputs == 1:  # one lengthscale for all
        return
    alone = np.array([_alike(X[:, [d]], targets) for d in range(n_inputs)])
    chosen = [tuple(np.flatnonzero(alone > _CLEARLY).tolist())]
    if 2 < n_inputs <= _MOST_INPUTS_FOR_PAIRS:
        pairs = list(combinations(range(n_inputs), 2))
        together = [_alike(X[:, list(pair)], targets) for pair in pairs]
        if max(together) > _CLEARLY_OF_PAIRS:
            chosen.append(pairs[int(np.argmax(together))])
    for inputs in dict.fromkeys(chosen):
        if 0 < len(inputs) < n_inputs:
            own = list(inputs)
            left_out = _FAR * usual
            own_usual = usual[own] * np.sqrt(len(own) / n_inputs)
            yield (_replaced(left_out, own, own_usual * shorter) for shorter in _SHORTER)


def _replaced(values, places, new):
    values = values.copy()
    values[places] = new
    return values


def _alike(X: Float[np.ndarray, "N d"], targets: Float[np.ndarray, "N C"]) -> float:
    """By how many standard deviations neighbours' targets are more similar than by chance."""
    if X.shape[1] == 1:
        order = np.argsort(X[:, 0], kind="stable")
        here, there = order[:-1], order[1:]
    else:
        here = np.arange(len(X))
        scaled = X / np.maximum(X.std(axis=0), 1e-300)
        there = cKDTree(scaled).query(scaled, 2)[1][:, 1]
    apart = np.mean(np.sum((targets[here] - targets[there]) ** 2, axis=1))
    ratio = 0.5 * apart / np.mean(np.sum(targets**2, axis=1))
    return float((1.0 - ratio) * np.sqrt(len(X)))
