r"""What a mixture of Gaussians for q would be worth, where one is poor: few rows, full prior.

    python benchmarks/mixture_q.py

q(v) = Σ_k w_k N(m_k, T_k T_kᵀ), f = L v, K = L Lᵀ. The sum over rows and E log p(v) are averages
over components; the entropy has no closed form and a lower bound takes its place,

    H ≥ Σ_k w_k H_k - Σ_k w_k log Σ_j w_j exp(-B_kj),      B the Bhattacharyya distance

(Kolchinsky & Tracey 2017), exact for equal components and for components far apart. (Jensen's,
which Gershman et al. 2012 take, lacks 0.15 nats for each row even with one component.) L-BFGS
moves everything, from two or three starts.

"short by" is log evidence (by importance sampling) less the bound; "off" the largest difference
from the truth on a grid: of a probability for the probit, of the density of f, in total variation,
for Student's t. EP for the probit.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, log_ndtr, logsumexp
from scipy.optimize import minimize

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
DRAWS, KEPT = 400_000, 4000
F = np.linspace(-6.0, 6.0, 241)


def rbf(a, b, variance, lengthscale):
    return variance * np.exp(-0.5 * ((a[:, None] - b) / lengthscale) ** 2)


def log_student_t(y, f, degrees=2.0, scale=0.3):
    top, square = 0.5 * (degrees + 1.0), ((y - f) / scale) ** 2
    constant = gammaln(top) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi) - np.log(scale)
    return constant - top * jnp.log1p(square / degrees)


def unpacked(at, K, N):
    mean, T = at[: K * N].reshape(K, N), at[K * N : -K].reshape(K, N, N)
    diagonal = jnp.exp(jnp.diagonal(T, axis1=1, axis2=2))
    return mean, jnp.tril(T, -1) + diagonal[:, :, None] * jnp.eye(N), at[-K:] - logsumexp(at[-K:])


def bound(at, K, lower, log_p):
    N = len(lower)
    mean, T, log_w = unpacked(at, K, N)
    spread = jnp.sqrt(jnp.sum(jnp.einsum("ij,kjl->kil", lower, T) ** 2, axis=2))
    f = (mean @ lower.T)[..., None] + spread[..., None] * NODES
    S, log_det = T @ T.mT, 2.0 * jnp.sum(jnp.log(jnp.diagonal(T, axis1=1, axis2=2)), axis=1)
    each = jnp.sum(log_p(f) @ WEIGHTS, axis=1)
    each += 0.5 * (N + log_det - jnp.trace(S, axis1=1, axis2=2) - jnp.sum(mean**2, axis=1))
    apart, middle = mean[:, None] - mean, 0.5 * (S[:, None] + S)
    distance = 0.125 * jnp.sum(apart * jnp.linalg.solve(middle, apart[..., None])[..., 0], axis=-1)
    distance += 0.5 * jnp.linalg.slogdet(middle)[1] - 0.25 * (log_det[:, None] + log_det)
    return jnp.exp(log_w) @ (each - logsumexp(log_w - distance, axis=1))


def fitted(K, lower, log_p, starts):
    """The best of L-BFGS from each start: bound, components, weights."""
    N = len(lower)
    lowered = jax.jit(jax.value_and_grad(lambda at: -bound(at, K, lower, log_p)))
    ends = []
    for start in starts:
        T = np.tile(np.diag(np.full(N, -0.7)), (K, 1, 1))
        at = np.concatenate([start.ravel(), T.ravel(), np.zeros(K)])
        options = {"maxiter": 1500, "maxfun": 2000}
        found = minimize(
            lambda at: tuple(np.asarray(part, float) for part in lowered(at)),
            *(at,),
            jac=True,
            method="L-BFGS-B",
            options=options,
        )
        ends.append((-found.fun, found.x))
    value, at = max(ends, key=lambda end: end[0])
    mean, T, log_w = (np.asarray(part) for part in unpacked(jnp.asarray(at), K, N))
    return value, list(zip(mean, T, strict=True)), np.exp(log_w)


def by_ep(K, y, sweeps=200):
    """Log evidence, mean and covariance for the probit; parallel, damped."""
    b, g = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(sweeps + 1):
        S = np.linalg.inv(np.linalg.inv(K) + np.diag(b))
        mean, s = S @ g, np.diag(S)
        c = 1.0 / (1.0 / s - b)
        m = c * (mean / s - g)
        z = y * m / np.sqrt(1.0 + c)
        log_z = np.asarray(log_ndtr(z))
        ratio = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_z)
        slope, bend = y * ratio / np.sqrt(1.0 + c), ratio * (z + ratio) / (1.0 + c)
        last = b, g
        b = 0.5 * (b + bend / (1.0 - c * bend))
        g = 0.5 * (g + (slope + bend * m) / (1.0 - c * bend))
    b, g = last
    whole, at = K + np.diag(1.0 / b), g / b
    value = np.sum(log_z) + 0.5 * np.sum(np.log(c + 1.0 / b) + (m - at) ** 2 / (c + 1.0 / b))
    value -= 0.5 * (at @ np.linalg.solve(whole, at) + np.linalg.slogdet(whole)[1])
    return value, mean, S


def sampled(lower, log_p, components, rng):
    """The log evidence and draws of f from the posterior, by importance sampling.

    From Student's t around each component, six degrees of freedom, 1.3 times as wide.
    """
    N, degrees = len(lower), 6.0
    which = rng.integers(len(components), size=DRAWS)
    noise = rng.normal(size=(DRAWS, N)) / np.sqrt(rng.chisquare(degrees, (DRAWS, 1)) / degrees)
    v, log_q = np.empty((DRAWS, N)), []
    for number, (mean, T) in enumerate(components):
        own = which == number
        v[own] = mean + noise[own] @ (1.3 * T).T
    for mean, T in components:
        square = np.sum(np.linalg.solve(1.3 * T, (v - mean).T) ** 2, axis=0)
        constant = gammaln(0.5 * (degrees + N)) - gammaln(0.5 * degrees)
        constant -= 0.5 * N * np.log(degrees * np.pi) + np.linalg.slogdet(1.3 * T)[1]
        log_q.append(constant - 0.5 * (degrees + N) * np.log1p(square / degrees))
    log_q = logsumexp(jnp.stack(log_q), axis=0) - np.log(len(components))
    f = v @ lower.T
    log_joint = jnp.sum(log_p(f[..., None])[..., 0], axis=1) - 0.5 * np.sum(v**2, axis=1)
    log_w = np.asarray(log_joint - 0.5 * N * np.log(2.0 * np.pi) - log_q)
    weight = np.exp(log_w - logsumexp(log_w))
    return float(logsumexp(log_w)) - np.log(DRAWS), f[rng.choice(DRAWS, KEPT, p=weight)]


def predicted(is_probit, parts):
    """At each place of the grid: a probability, or the density of f."""
    if is_probit:
        each = (w * np.exp(log_ndtr(mean / np.sqrt(1.0 + var))) for w, mean, var in parts)
        return sum(each)[:, None]
    return sum(
        w * np.exp(-0.5 * (F - mean[:, None]) ** 2 / var[:, None]) / np.sqrt(var[:, None])
        for w, mean, var in parts
    ) * ((F[1] - F[0]) / np.sqrt(2.0 * np.pi))


def told(name, x, y, variance, lengthscale, is_probit, rng):
    N, grid = len(x), np.linspace(-3.5, 3.5, 41)
    K = rbf(x, x, variance, lengthscale) + 1e-8 * variance * np.eye(N)
    lower, cross = np.linalg.cholesky(K), rbf(x, grid, variance, lengthscale)

    def log_p(f):
        targets = y[:, None]
        return log_ndtr(targets * f) if is_probit else log_student_t(targets, f)

    one, of_one, _ = fitted(1, lower, log_p, [np.zeros((1, N))])
    began = os.times().user
    (mean, T), far = of_one[0], 0.7 if is_probit else 1.5
    starts = [
        mean + far * np.random.default_rng(seed).normal(size=(2, N)) * np.linalg.norm(T, axis=1)
        for seed in range(2 if is_probit else 3)
    ]
    two, of_two, weights = fitted(2, lower, log_p, starts)
    seconds = os.times().user - began
    evidence, draws = sampled(lower, log_p, of_two + of_one, rng)
    left = np.maximum(variance - np.sum(cross * np.linalg.solve(K, cross), axis=0), 1e-3)
    at_grid = draws @ np.linalg.solve(K, cross)
    truth = predicted(is_probit, [(1.0 / KEPT, each, left) for each in at_grid])

    def line(label, value, components, shares):
        A = np.linalg.solve(lower, cross).T
        parts = [
            (w, A @ m, left + np.sum((A @ T) ** 2, axis=1))
            for w, (m, T) in zip(shares, components, strict=True)
        ]
        apart = np.abs(predicted(is_probit, parts) - truth)
        off = np.max(apart) if is_probit else 0.5 * np.max(np.sum(apart, axis=1))
        print(f"  {label:13s} short by {evidence - value:6.3f}  off {off:.3f}", flush=True)

    print(f"{name}, {N} rows: log evidence {evidence:.3f}, two components {seconds:.1f} CPU s")
    line("one Gaussian", one, of_one, [1.0])
    line("two", two, of_two, weights)
    if is_probit:
        value, mean, S = by_ep(K, y)
        half = np.linalg.solve(lower, np.linalg.solve(lower, S).T)
        v = np.linalg.solve(lower, mean), np.linalg.cholesky(half + 1e-10 * np.eye(N))
        line("EP", value, [v], [1.0])


def main():
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    for n, variance in ((6, 100.0), (10, 100.0), (12, 10.0)):
        x = np.sort(np.random.default_rng(n).uniform(-3.0, 3.0, n))
        noise = np.random.default_rng(n + 1).normal(size=n)
        y = np.sign(np.sin(1.5 * x) + 0.2 * noise)
        told(f"probit, variance {variance:g}", x, y, variance, 1.0, True, rng)
    for n in (8, 12):
        x = np.sort(np.random.default_rng(n).uniform(-1.5, 1.5, n))
        y = np.where(np.arange(n) % 2 == 0, 2.0, -2.0)
        y = y + 0.1 * np.random.default_rng(1).normal(size=n)
        told("Student's t, two groups", x, y, 4.0, 1.5, False, rng)


if __name__ == "__main__":
    main()
