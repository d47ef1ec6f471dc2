"""A posterior that is no array arithmetic has no graph."""

import numpy as np
import pytest

from fewknots import GPClassifier


def test_the_local_method_says_no(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    clf = GPClassifier(method="local", n_neighbors=5, max_iter=2, tol=0.0, random_state=0)
    clf.fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="method='sparse_kl'"):
        clf.to_onnx(tmp_path / "local.onnx")
    assert not (tmp_path / "local.onnx").exists()
