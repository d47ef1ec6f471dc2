"""Rows and targets of the golden numbers for likelihoods: NumPy alone, for any program to read."""

import numpy as np

LENGTHSCALE, VARIANCE, JITTER = 0.8, 1.2, 1.2e-6  # of an RBF; the jitter is absolute
POINTS = 8
NEW = np.linspace(-2.4, 2.4, 5)[:, None]  # where there is something to predict


def rows() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """X and, by likelihood, y; the first rows are the inducing points."""
    random = np.random.RandomState(0)
    X = random.uniform(-2.0, 2.0, size=(40, 1))
    f = np.sin(2.0 * X[:, 0])
    mean = 1.0 / (1.0 + np.exp(-f))
    targets = {
        "poisson": random.poisson(1.7 * np.exp(f)),
        "student_t": f + 0.3 * random.standard_t(3.0, size=40),
        "negative_binomial": random.negative_binomial(2.0, 2.0 / (2.0 + 3.0 * np.exp(f))),
        "heteroscedastic": f + np.exp(0.5 * X[:, 0] - 1.0) * random.normal(size=40),
        "ordinal": np.digitize(f + 0.5 * random.normal(size=40), [-0.6, 0.2, 0.9]),
        "gamma": 2.5 * np.exp(f) * random.gamma(3.0, size=40) / 3.0,
        "beta": random.beta(8.0 * mean, 8.0 * (1.0 - mean)),
    }
    return X, {name: y.astype(float) for name, y in targets.items()}
