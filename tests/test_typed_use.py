"""What a user's type checker knows of fewknots: mypy reads this file strictly (pyproject.toml).

It is a program as a user writes it. mypy checks what it asserts of types; pytest runs it like any
other test.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from jaxtyping import Float

import fewknots
from fewknots import GPClassifier, GPRegressor, Progress
from fewknots.kernels import RBF, Bounded, Kernel, Linear, Matern32


def test_a_typed_program(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] > 0
    kernel = Matern32() + RBF(lengthscale=Bounded(0.1, 10.0)) * Linear(columns=[0])
    assert_type(kernel, Kernel)
    seen: list[int] = []

    def watch(now: Progress) -> None:
        seen.append(now.iteration)

    classifier = GPClassifier(
        kernel, n_inducing=4, warp=None, tol=0.01, random_state=0, callback=watch
    )
    assert_type(classifier.fit(X, y), GPClassifier)
    assert_type(classifier.log_evidence_, float)
    assert_type(classifier.method_, str)
    assert_type(classifier.n_iter_, int)
    assert_type(classifier.converged_, bool)
    assert_type(classifier.history_, dict[str, np.ndarray])
    assert_type(classifier.inducing_points_, np.ndarray)
    assert_type(classifier.predict_latent(X), tuple[np.ndarray, np.ndarray])
    assert_type(classifier.leave_one_out(X, y), Float[np.ndarray, " N"])
    classifier.save(tmp_path / "model.fewknots")
    loaded = fewknots.load(tmp_path / "model.fewknots")
    assert_type(loaded, Any)  # a classifier, a regressor or a table's model
    np.testing.assert_array_equal(loaded.predict(X), classifier.predict(X))
    assert seen

    regressor = GPRegressor(likelihood="gaussian", noise=0.1, tol=0.1, warp=None)
    assert_type(regressor.fit(X, X[:, 0]), GPRegressor)
    assert_type(regressor.noise_, float)
    assert regressor.noise_ > 0
