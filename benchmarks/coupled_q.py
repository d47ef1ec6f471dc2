"""What a q that couples the classes would be worth: the softmax's factorised q beside the best one.

    python benchmarks/coupled_q.py             iris and generated rows, about a minute

fewknots' q is independent between classes. The best Gaussian of all has, at its optimum, the
prior's precision and a C×C block for each row,

    S⁻¹ = I ⊗ K⁻¹ + blocks Λ_n,     Λ_n = E_q[diag π - π πᵀ],     I ⊗ K⁻¹ m = [y = c] - E_q[π],

of which the factorised one keeps the diagonals. The same fixed point with whole blocks finds it, in
O((CN)³), by products of Gauss-Hermite rules over the C - 1 differences of a row: small problems.
Both have the kernel that the factorised bound learned, and then each the kernel of its own bound.
"""

import time
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_iris

from fewknots import GPClassifier
from fewknots.kernels import RBF

NODES = 20
TOLERANCE = 1e-4  # nats


class Coupled:
    """The best q with whole blocks, or with diagonal ones, for one kernel matrix K of the rows."""

    def __init__(self, K, codes, n_classes, coupled=True, start=None):
        self.K, self.C, self.N = K, n_classes, len(K)
        self.y = np.eye(n_classes)[codes]
        self.coupled = coupled
        zeros = np.zeros((self.N, self.C, self.C)), np.zeros((self.N, self.C))
        blocks, alpha = zeros if start is None else start
        best, step = self.look(blocks, alpha), 1.0
        for self.passes in range(500):
            target, slope = best["curvature"], best["slope"]
            new_blocks = blocks + step * (target - blocks)
            # what the sites say now, and the slope there
            # (along differences a diagonal block has less curvature than the whole: go less far)
            far = step if self.coupled else step * self.C / (self.C + 2.0)
            g = alpha + far * (slope - alpha)
            # what all functions have in common changes no term and only costs divergence
            now = best["mean"] - best["mean"].mean(axis=1, keepdims=True)
            linear = g + np.einsum("ncd,nd->nc", new_blocks, now)
            root, inner = self.factor(new_blocks)
            mean = self.covariance(root, inner) @ linear.ravel()
            new_alpha = linear - np.einsum("ncd,nd->nc", new_blocks, mean.reshape(self.N, -1))
            new = self.look(new_blocks, new_alpha)
            gain = new["bound"] - best["bound"]
            if gain > -1e-10:
                blocks, alpha, best, step = new_blocks, new_alpha, new, min(1.0, 2.0 * step)
                if gain < TOLERANCE and step == 1.0:
                    break
            else:
                step *= 0.5
                if step < 1e-3:  # the rule's own error
                    break
        self.blocks, self.alpha, self.bound, self.seen = blocks, alpha, best["bound"], best

    def factor(self, blocks):
        values, vectors = np.linalg.eigh(blocks)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
        wide = np.einsum("ncd,nm,mce->ndme", root, self.K, root).reshape(self.N * self.C, -1)
        return root, np.eye(self.N * self.C) + wide

    def covariance(self, root, inner):
        prior = np.einsum("nm,cd->ncmd", self.K, np.eye(self.C)).reshape(self.N * self.C, -1)
        right = np.einsum("ncd,nm->ndmc", root, self.K).reshape(self.N * self.C, -1)
        return prior - right.T @ np.linalg.solve(inner, right)

    def look(self, blocks, alpha):
        root, inner = self.factor(blocks)
        S = self.covariance(root, inner)
        mean = self.K @ alpha
        rows = S.reshape(self.N, self.C, self.N, self.C)[range(self.N), :, range(self.N)]
        log_p, p, second = expectations(mean, rows)
        curvature = np.einsum("nc,cd->ncd", p, np.eye(self.C)) - second
        if not self.coupled:
            curvature = np.einsum("ncc,cd->ncd", curvature, np.eye(self.C))
        divergence = 0.5 * (
            np.linalg.slogdet(inner)[1] - np.sum(blocks * rows) + np.sum(alpha * mean)
        )
        bound = np.sum(self.y * log_p) - divergence
        return {"bound": bound, "mean": mean, "slope": self.y - p, "curvature": curvature}

    def probabilities(self, cross, own):
        """At new rows: covariances with the rows, and variances."""
        root, inner = self.factor(self.blocks)
        right = np.einsum("ncd,bn->ndbc", root, cross).reshape(self.N * self.C, -1)
        solved = np.linalg.solve(inner, right).reshape(-1, len(own), self.C)
        explained = np.einsum("sbc,sbd->bcd", right.reshape(solved.shape), solved)
        covariance = own[:, None, None] * np.eye(self.C) - explained
        return expectations(cross @ self.alpha, covariance)[1]


def expectations(mean, covariance):
    """E[log π], E[π] and E[π πᵀ], π = softmax(f), over the differences to the last class."""
    C = mean.shape[1]
    D = np.eye(C)[:-1] - np.eye(C)[-1]
    lower = np.linalg.cholesky(D @ covariance @ D.T + 1e-12 * np.eye(C - 1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES if C > 2 else 120)
    grid = np.stack(np.meshgrid(*[nodes] * (C - 1), indexing="ij")).reshape(C - 1, -1)
    weight = np.prod(np.meshgrid(*[weights / weights.sum()] * (C - 1), indexing="ij"), axis=0)
    d = (mean @ D.T)[..., None] + lower @ grid
    f = np.concatenate([d, np.zeros_like(d[:, :1])], axis=1)
    log_p = log_softmax(f, axis=1)
    p = np.exp(log_p)
    weight = weight.ravel()
    return log_p @ weight, p @ weight, np.einsum("ncs,nds,s->ncd", p, p, weight)


def sectors(n, n_classes, seed):
    """Sectors of a plane, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.5 * rng.normal(size=n)
    return X, ((angle + np.pi) // (2.0 * np.pi / n_classes)).astype(int) % n_classes


def problems():
    """(name, rows, codes, new rows, their codes)"""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = (X[order] - X.mean(axis=0)) / X.std(axis=0), y[order]
    two = np.flatnonzero(y > 0)
    yield "iris, 2 classes, 60 rows", X[two[:60]], y[two[:60]] - 1, X[two[60:]], y[two[60:]] - 1
    yield "iris, 3 classes, 90 rows", X[:90], y[:90], X[90:], y[90:]
    for n_classes in (2, 3):
        rows, new = sectors(100, n_classes, 1), sectors(1000, n_classes, 2)
        yield f"sectors, {n_classes} classes, 100 rows", *rows, *new


def matrix(kernel, A, B):
    difference = (A[:, None] - B[None]) / np.asarray(kernel.lengthscale)
    return float(kernel.variance) * np.exp(-0.5 * np.sum(difference**2, axis=-1))


def learned(X, codes, n_classes, start):
    """The kernel of the coupled bound: one lengthscale, variance."""
    last = None

    def lowered(log_parameters):
        nonlocal last
        lengthscale, variance = np.exp(log_parameters)
        kernel = replace(start, lengthscale=lengthscale, variance=variance)
        found = Coupled(matrix(kernel, X, X), codes, n_classes, start=last)
        last = found.blocks, found.alpha
        return -found.bound

    at = np.log([float(np.ravel(start.lengthscale)[0]), float(start.variance)])
    limits = [(-2.0, 2.5), (-3.0, 6.5)]  # beyond, the rules of so few nodes are not enough
    options = {"maxiter": 8, "eps": 1e-2}
    found = minimize(lowered, at, method="L-BFGS-B", bounds=limits, options=options)
    lengthscale, variance = np.exp(found.x)
    return replace(start, lengthscale=lengthscale, variance=variance)


def told(label, bound, p, codes, beside):
    nlp = -np.log(p[np.arange(len(p)), codes]).mean()
    error, apart = np.mean(p.argmax(axis=1) != codes), np.abs(p - beside).max()
    print(f"  {label:30s} bound {bound:9.3f}  NLP {nlp:.4f}  error {error:.3f}  apart {apart:.4f}")


def main():
    for name, X, codes, new, new_codes in problems():
        begun, n_classes = time.process_time(), codes.max() + 1
        fixed = {"method": "full_kl", "likelihood": "softmax", "standardize": False}
        clf = GPClassifier(RBF(ard=False), **fixed).fit(X, codes)
        kernel = clf.kernel_
        print(f"{name}: {kernel!r}")

        p = clf.predict_proba(new)
        told("factorised (fewknots)", clf.log_evidence_, p, new_codes, p)
        for label, k, coupled in (
            ("factorised (this program)", kernel, False),
            ("coupled, the same kernel", kernel, True),
            ("coupled, the kernel it learns", learned(X, codes, n_classes, kernel), True),
        ):
            q = Coupled(matrix(k, X, X), codes, n_classes, coupled)
            own = np.full(len(new), float(k.variance))
            told(label, q.bound, q.probabilities(matrix(k, new, X), own), new_codes, p)
        print(f"  {k!r}, {time.process_time() - begun:.0f} s of CPU")


if __name__ == "__main__":
    main()
