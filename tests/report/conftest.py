"""Classifiers to report on, fitted once."""

import numpy as np
import pytest

from fewknots import GPClassifier


class TwoBaselines:
    """What `write_report` asks of baselines: probabilities by name."""

    def probabilities(self, X):
        slope = 1.0 / (1.0 + np.exp(-(X[:, 0] - X[:, 0].mean())))
        return {"majority class": np.full(len(X), 0.4), "logistic regression": slope}


@pytest.fixture(scope="session")
def fitted(moons):
    """A small classifier of three inputs, and rows it has not seen."""
    X, y = moons
    labels = np.array(["no", "yes"])[y]
    classifier = GPClassifier(
        "matern32 + linear", n_inducing=8, max_iter=15, tol=0.1, random_state=0
    )
    return classifier.fit(X[:50], labels[:50]), X[50:], labels[50:]


@pytest.fixture(scope="session")
def baselines():
    return TwoBaselines()
