"""ONNX graphs in onnxruntime beside `predict_proba`."""

import sys

import numpy as np
import pytest

from fewknots import GPClassifier, container
from fewknots.kernels import KERNELS, RBF, Constant, Linear, Matern12, Matern52

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
JOINED = ["rbf + linear", "matern32 * linear + constant"]


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def quick(kernel="rbf", **arguments):
    defaults = {"n_inducing": 12, "learn_inducing": False, "tol": 1e-2, "random_state": 0}
    return GPClassifier(kernel, **(defaults | arguments))


def places(X):
    """Rows of the fit, rows near and far, a row twice, and more rows than there are points."""
    rng = np.random.default_rng(3)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    near = centre + spread * rng.normal(size=(150, X.shape[1]))
    far = centre + 30.0 * spread * rng.normal(size=(20, X.shape[1]))
    return np.concatenate([X, near, near[:1], far])


def compare(classifier, X, path, dtype):
    """The largest difference of probabilities, given the same rows in the same precision."""
    classifier.to_onnx(path, dtype=dtype)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    rows = X.astype(dtype)
    found, labels = session(path).run(["probabilities", "label"], {"X": rows})
    wanted = classifier.predict_proba(rows)
    assert found.dtype == np.dtype(dtype)
    assert found.shape == wanted.shape
    undecided = np.abs(wanted[:, 0] - 0.5) < 1e-4
    np.testing.assert_array_equal(labels[~undecided], classifier.predict(rows)[~undecided])
    return np.abs(found - wanted).max()


@pytest.mark.parametrize("likelihood", ["probit", "logit"])
@pytest.mark.parametrize("kernel", [*KERNELS, *JOINED])
def test_every_kernel_and_link(kernel, likelihood, moons, tmp_path):
    X, y = moons
    classifier = quick(kernel, likelihood=likelihood).fit(X, y)
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance
