r"""What orthogonal inducing points would be worth: two sets of points beside one.

    python benchmarks/orthogonal_points.py --data FOLDER [--inducing 12] [names]

SOLVE-GP (Shi, Titsias & Mnih 2020) gives what M points leave unexplained M points of its own, and
takes both parts of q for independent. In whitened coordinates of all 2M points that is a covariance
S of two blocks on the diagonal, and nothing else changes: here both bounds are one program.

A pass over the rows (features, Aᵀ diag(b) A, diag(A S Aᵀ)) costs 3M² multiplications a row for one
set, four times that for one set of 2M, and 7M² to 8M² for two sets: as much as one set of 1.6M.
Data sets as in bounds.py, 400 rows; everything is learned by L-BFGS from k-means, in at most 60
iterations. Bound for each row, and test NLP (of standardised numbers).
"""

import argparse
from pathlib import Path

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import log_ndtr
from scipy.cluster.vq import kmeans2
from scipy.optimize import minimize

from bounds import CLASSES, NUMBERS, load

ROWS, ITERATIONS, PASSES = 400, 60, 12
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def rbf(a, b, model):
    a, b = a / jnp.exp(model["lengthscale"]), b / jnp.exp(model["lengthscale"])
    square = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1) - 2.0 * a @ b.T
    return jnp.exp(model["variance"] - 0.5 * jnp.maximum(square, 0.0))


def features(model, X):
    """A and κ."""
    Z, variance = model["Z"], jnp.exp(model["variance"])
    lower = jnp.linalg.cholesky(rbf(Z, Z, model) + 1e-6 * variance * jnp.eye(len(Z)))
    A = solve_triangular(lower, rbf(Z, X, model), lower=True).T
    return A, jnp.maximum(variance - jnp.sum(A * A, axis=1), 0.0)


def expectations(model, y, mean, variance, is_number):
    """E[log p], E[(log p)'] and -E[(log p)'']."""
    if is_number:
        noise = jnp.exp(model["noise"])
        log_p = -0.5 * (jnp.log(2.0 * jnp.pi * noise) + ((y - mean) ** 2 + variance) / noise)
        return log_p, (y - mean) / noise, jnp.ones_like(mean) / noise
    f = mean[:, None] + jnp.sqrt(variance + 1e-12)[:, None] * NODES
    z = y[:, None] * f
    log_p = log_ndtr(z)
    ratio = jnp.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_p)
    curvature = ratio * (z + ratio)
    return log_p @ WEIGHTS, (y[:, None] * ratio) @ WEIGHTS, curvature @ WEIGHTS


def bound_of(blocks, is_number):
    """A function of the model that finds the best q and gives bound, gradient and q."""

    def look(model, q, X, y):
        A, kappa = features(model, X)
        mean, variance = A @ q[0], kappa + jnp.sum((A @ q[1]) * A, axis=1)
        return A, mean, *expectations(model, y, mean, variance, is_number)

    def bound(model, q, X, y):
        m, S = q
        log_det = sum(jnp.linalg.slogdet(S[block, block])[1] for block in blocks)
        divergence = 0.5 * (jnp.trace(S) + m @ m - len(m) - log_det)
        return jnp.sum(look(model, q, X, y)[2]) - divergence

    def precision(A, b):
        return jnp.eye(A.shape[1]) + A.T @ (A * b[:, None])

    def covariance(A, b):
        whole, S = precision(A, b), jnp.zeros((A.shape[1], A.shape[1]))
        for block in blocks:
            S = S.at[block, block].set(jnp.linalg.inv(whole[block, block]))
        return S

    @jax.jit
    def solved(model, b, m, X, y):
        A, _ = features(model, X)

        def step(_, sites):
            b, m = sites
            _, mean, _, slope, curvature = look(model, (m, covariance(A, b)), X, y)
            b = 0.5 * (b + curvature)
            return b, jnp.linalg.solve(precision(A, b), A.T @ (slope + b * mean))

        b, m = jax.lax.fori_loop(0, PASSES, step, (b, m))
        q = m, covariance(A, b)
        return *jax.value_and_grad(bound)(model, q, X, y), b, q

    return solved


def learned(X, y, Z, blocks, is_number):
    """The model and q after L-BFGS, and the bound."""
    D = X.shape[1]
    start = {
        "lengthscale": np.full(D, 0.5 * np.log(D)),
        "variance": np.zeros(()),
        "noise": np.log(0.1),
        "Z": Z,
    }
    flat, unflat = jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, start))
    solved = bound_of(blocks, is_number)
    sites = [jnp.full(len(y), 0.3), jnp.zeros(len(Z))]

    def lowered(at):
        value, gradient, b, q = solved(unflat(jnp.asarray(at)), *sites, X, y)
        if not np.isfinite(value):
            return 1e10, np.zeros_like(at)
        sites[:] = b, q[0]
        return -float(value), -np.asarray(jax.flatten_util.ravel_pytree(gradient)[0])

    options = {"maxiter": ITERATIONS, "maxfun": 5 * ITERATIONS // 4}
    found = minimize(lowered, np.asarray(flat), jac=True, method="L-BFGS-B", options=options)
    model = unflat(jnp.asarray(found.x))
    value, _, _, q = solved(model, *sites, X, y)
    return model, q, float(value)


def nlp(model, q, X, y, is_number):
    A, kappa = features(model, X)
    mean, variance = A @ q[0], kappa + jnp.sum((A @ q[1]) * A, axis=1)
    if is_number:
        variance = variance + jnp.exp(model["noise"])
        return jnp.mean(0.5 * (jnp.log(2.0 * jnp.pi * variance) + (y - mean) ** 2 / variance))
    return -jnp.mean(log_ndtr(y * mean / jnp.sqrt(1.0 + variance)))


def standardised(name, folder):
    X, y, X_test, y_test = load(name, folder)
    X, y = X[:ROWS], y[:ROWS]
    centre, scale = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    if name in NUMBERS:
        y, y_test = ((part - y.mean()) / y.std() for part in (y, y_test))
    else:
        y, y_test = (np.where(part == np.max(y), 1.0, -1.0) for part in (y, y_test))
    return (X - centre) / scale, y, (X_test - centre) / scale, y_test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=(*CLASSES, *NUMBERS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--inducing", type=int, default=12)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    M = given.inducing
    for name in given.names:
        X, y, X_test, y_test = standardised(name, given.data)
        for count, is_split in ((M, False), (round(1.6 * M), False), (2 * M, True), (2 * M, False)):
            blocks = (slice(0, M), slice(M, None)) if is_split else (slice(None),)
            Z = np.random.default_rng(0).permutation(kmeans2(X, count, seed=0, minit="++")[0])
            model, q, value = learned(X, y, Z, blocks, name in NUMBERS)
            label = f"{M} + {M}" if is_split else str(count)
            scored = float(nlp(model, q, X_test, y_test, name in NUMBERS))
            print(f"{name:13s} {label:8s} bound {value / ROWS:8.4f}  NLP {scored:7.4f}", flush=True)


if __name__ == "__main__":
    main()
