"""Slow, plain NumPy and SciPy versions of what fewknots computes, written from the equations."""

import numpy as np
from scipy.special import log_expit, log_ndtr
from scipy.stats import multivariate_normal


def gaussian_expectation(g, mean, variance, n=4001, reach=12.0):
    """E[g(f)] by a very fine trapezoidal sum around each mean, refined near f = 0."""
    sigma = np.sqrt(variance)
    u = np.linspace(0.0, 1.0, n)[:, None]
    low, high = np.arcsinh(mean - reach * sigma), np.arcsinh(mean + reach * sigma)
    f = np.sinh(low + (high - low) * u)
    weight = np.cosh(np.arcsinh(f)) * np.exp(-0.5 * ((f - mean) / sigma) ** 2)
    return np.sum(g(f) * weight, axis=0) / np.sum(weight, axis=0)


LOG_LINKS = {"probit": log_ndtr, "logit": log_expit}


def rbf(A, B, lengthscale, variance):
    difference = (A[:, None, :] - B[None, :, :]) / lengthscale
    return variance * np.exp(-0.5 * np.sum(difference**2, axis=-1))


def sparse_bound(Kmm, Knm, knn, y, m, S, link="probit", weights=None):
    """Eq. (klsparse) in u, not whitened: q(u) = N(m, S), eq. (posterior_form) as printed."""
    A = Knm @ np.linalg.inv(Kmm)
    mean = A @ m
    variance = knn + np.einsum("nm,mk,nk->n", A, S - Kmm, A)
    log_link = LOG_LINKS[link]
    expected = gaussian_expectation(lambda f: log_link(y * f), mean, variance)
    M = len(m)
    divergence = 0.5 * (
        np.trace(np.linalg.solve(Kmm, S))
        + m @ np.linalg.solve(Kmm, m)
        - M
        + np.linalg.slogdet(Kmm)[1]
        - np.linalg.slogdet(S)[1]
    )
    return np.sum(expected if weights is None else weights * expected) - divergence


def titsias_bound(Kmm, Knm, knn, y, noise):
    """Eq. (titsias)."""
    Q = Knm @ np.linalg.solve(Kmm, Knm.T)
    covariance = Q + noise * np.eye(len(y))
    log_marginal = multivariate_normal(np.zeros(len(y)), covariance).logpdf(y)
    return log_marginal - np.sum(knn - np.diag(Q)) / (2.0 * noise)
