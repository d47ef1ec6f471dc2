"""EP, KL, Laplace and FITC-EP once more, in plain NumPy: the program behind numbers/plain.json.

    python -m tests.golden.plain_methods      writes the file anew

It shares nothing with fewknots. Every method ends with the precisions Λ of one Gaussian site per
row, and with a vector α; with B = I + Λ^½ C Λ^½ and A = Λ^½ B⁻¹ Λ^½ = (C + Λ⁻¹)⁻¹,

    latent mean  c*ᵀ α,      latent variance  c** − c*ᵀ A c*,

where C is the prior covariance of the rows: the kernel's, or FITC's Q + diag(K − Q). Page numbers
are those of Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer

FILE = Path(__file__).parent / "numbers" / "plain.json"
LENGTHSCALES, N_INDUCING, JITTER = np.array([1.5, 2.0, 2.5, 3.0]), 12, 1e-6
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(150)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class Solution(NamedTuple):
    """Log evidence or bound, α, A, and whether ½ tr((ααᵀ − A) dC) is the value's derivative."""

    value: float
    alpha: np.ndarray
    A: np.ndarray
    envelope: bool = True


def rows():
    """Rows 0-119 to fit, 200-299 to test, four columns, standardised by the former; signs."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:300, :4]
    X = (X - X[:120].mean(axis=0)) / X[:120].std(axis=0)
    signs = 2.0 * y - 1.0
    return X[:120], signs[:120], X[200:], signs[200:300]


def rbf(a, b, log_lengthscales, log_variance):
    difference = (a[:, None] - b[None]) / np.exp(log_lengthscales)
    return np.exp(log_variance - 0.5 * np.sum(difference**2, axis=-1))


def covariances(X, X_new, log_lengthscales, log_variance, Z=None):
    """C of the rows, and their covariances with new rows; with Z as FITC has them."""
    K = rbf(X, X, log_lengthscales, log_variance)
    K_new = rbf(X_new, X, log_lengthscales, log_variance)
    if Z is None:
        return K, K_new
    Kmm = rbf(Z, Z, log_lengthscales, log_variance)
    Kmm[np.diag_indices(len(Z))] *= 1.0 + JITTER
    half = np.linalg.solve(np.linalg.cholesky(Kmm), rbf(Z, X, log_lengthscales, log_variance))
    new = np.linalg.solve(np.linalg.cholesky(Kmm), rbf(Z, X_new, log_lengthscales, log_variance))
    C = half.T @ half
    np.fill_diagonal(C, np.diagonal(K))
    return C, new.T @ half


def through(C, precisions):
    """A and log|B|."""
    root = np.sqrt(precisions)
    L = np.linalg.cholesky(np.eye(len(C)) + root[:, None] * C * root)
    half = np.linalg.solve(L, np.diag(root))
    return half.T @ half, 2.0 * np.sum(np.log(np.diagonal(L)))


def slopes(f, y):
    """First derivative of log Φ(y f), and the second with its sign turned."""
    ratio = np.exp(norm.logpdf(f) - log_ndtr(y * f))
    return y * ratio, ratio * (ratio + y * f)


def ep(C, y):
    """Expectation propagation, one site after the other (pages 52-59), and (3.65)."""
    tau, nu = np.zeros(len(y)), np.zeros(len(y))
    moved = np.inf
    while True:
        A, log_det = through(C, tau)
        V = C - C @ A @ C
        m = V @ nu
        cavity = 1.0 / (1.0 / np.diagonal(V) - tau)
        mean = cavity * (m / np.diagonal(V) - nu)
        z = y * mean / np.sqrt(1.0 + cavity)
        # log Z = Σ log Ẑ + the sites' normalisers − ½ log|C + T⁻¹| − ½ μ̃ᵀ(C + T⁻¹)⁻¹μ̃
        value = (
            np.sum(log_ndtr(z))
            + 0.5 * np.sum(np.log1p(tau * cavity))
            - 0.5 * log_det
            + 0.5 * nu @ V @ nu
            - 0.5 * np.sum(nu**2 / (tau + 1.0 / cavity))
            + 0.5 * np.sum(mean / cavity * (tau * mean - 2.0 * nu) / (tau + 1.0 / cavity))
        )
        if moved < 1e-11:
            return Solution(value, nu - A @ (C @ nu), A)
        before = tau.copy()
        for i in range(len(y)):
            cavity_i = 1.0 / (1.0 / V[i, i] - tau[i])
            mean_i = cavity_i * (m[i] / V[i, i] - nu[i])
            scale = np.sqrt(1.0 + cavity_i)
            z_i = y[i] * mean_i / scale
            ratio = np.exp(norm.logpdf(z_i) - log_ndtr(z_i))
            tilted_mean = mean_i + y[i] * cavity_i * ratio / scale
            tilted = cavity_i - cavity_i**2 * ratio * (z_i + ratio) / scale**2
            step = 1.0 / tilted - 1.0 / cavity_i - tau[i]
            tau[i] += step
            nu[i] = tilted_mean / tilted - mean_i / cavity_i
            V -= step / (1.0 + step * V[i, i]) * np.outer(V[i], V[i])
            m = V @ nu
        moved = np.max(np.abs(tau - before))


def full_kl(C, y):
    """The best Gaussian q(f): Λ = −E[(log Φ)″] and α = E[(log Φ)′], by Gauss-Hermite."""
    precisions, alpha = np.full(len(y), 0.5), np.zeros(len(y))
    moved = np.inf
    while True:
        A, log_det = through(C, precisions)
        m, v = C @ alpha, np.diagonal(C - C @ A @ C)
        f = m[:, None] + np.sqrt(v)[:, None] * _NODES
        expected = log_ndtr(y[:, None] * f) @ _WEIGHTS
        value = np.sum(expected) - 0.5 * (log_det + m @ alpha - np.trace(A @ C))
        if moved < 1e-11:
            return Solution(value, alpha, A)
        first, second = (part @ _WEIGHTS for part in slopes(f, y[:, None]))
        # Newton's step for m with these precisions: m = C α, α = ν − A C ν, ν = first + Λ m.
        precisions = second
        A, _ = through(C, precisions)
        nu = first + precisions * m
        new = nu - A @ (C @ nu)
        moved, alpha = np.max(np.abs(new - alpha)), new


def laplace(C, y):
    """Newton's method (page 46) and (3.32)."""
    alpha = np.zeros(len(y))
    while True:
        f = C @ alpha
        first, second = slopes(f, y)
        A, log_det = through(C, second)
        value = np.sum(log_ndtr(y * f)) - 0.5 * alpha @ f - 0.5 * log_det
        nu = first + second * f
        new = nu - A @ (C @ nu)
        if np.max(np.abs(new - alpha)) < 1e-12:
            return Solution(value, alpha, A, envelope=False)
        alpha = new


def derivative(function, parameters):
    """By central differences of fourth order."""
    step, result = 1e-3, np.zeros(parameters.size)
    for i in range(parameters.size):
        e = np.zeros(parameters.size)
        e[i] = step
        e = e.reshape(parameters.shape)
        near = function(parameters + e) - function(parameters - e)
        far = function(parameters + 2.0 * e) - function(parameters - 2.0 * e)
        result[i] = (8.0 * near - far) / (12.0 * step)
    return result.reshape(parameters.shape)


def solved(method, X, y, X_test, y_test, lengthscales, variance, Z=None):
    """One entry of the file."""
    solve = {"ep": ep, "fitc_ep": ep, "full_kl": full_kl, "laplace": laplace}[method]
    theta = np.append(np.log(lengthscales), np.log(variance))
    C, cross = covariances(X, X_test, theta[:-1], theta[-1], Z)
    found = solve(C, y)

    def value(theta, Z):
        C, _ = covariances(X, X_test[:1], theta[:-1], theta[-1], Z)
        if not found.envelope:
            return solve(C, y).value
        return 0.5 * (found.alpha @ C @ found.alpha - np.sum(found.A * C))

    mean = cross @ found.alpha
    spread = variance - np.einsum("nm,mk,nk->n", cross, found.A, cross)
    gradient = derivative(lambda theta: value(theta, Z), theta)
    entry = {
        "method": method,
        "M": 0 if Z is None else len(Z),
        "lengthscales": list(lengthscales),
        "variance": variance,
        "nlZ": -found.value,
        "d_log_lengthscales": (-gradient[:-1]).tolist(),
        "d_log_variance": -gradient[-1],
        "test_mean_log_prob": np.mean(log_ndtr(y_test * mean / np.sqrt(1.0 + spread))),
        "test_latent_mean_first10": mean[:10].tolist(),
        "test_latent_var_first10": spread[:10].tolist(),
    }
    if Z is not None:
        entry["d_Z"] = (-derivative(lambda Z: value(theta, Z), Z)).tolist()
    return entry


def main():
    X, y, X_test, y_test = rows()
    results = [
        solved(method, X, y, X_test, y_test, LENGTHSCALES, variance, Z)
        for variance in (2.0, 6.0)
        for method, Z in (
            ("ep", None),
            ("full_kl", None),
            ("laplace", None),
            ("fitc_ep", X[:N_INDUCING]),
        )
    ]
    FILE.write_text(json.dumps({"results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
