"""The multinomial probit in onnxruntime: the integral, and whole graphs beside `predict_proba`."""

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.kernels import RBF
from fewknots.numerics.largest import log_largest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from fewknots.export.graph import Graph  # noqa: E402
from fewknots.export.largest import probability_of_largest  # noqa: E402

from .test_classifier import TOLERANCE, compare, places, session  # noqa: E402
from .test_softmax import NAMES, rows  # noqa: E402


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n_classes", [2, 3, 10, 26])
def test_variances_up_to_a_thousand_and_means_up_to_fifty(n_classes, dtype, float64):
    """Of one size in a row, small ones beside large ones, and none; all of it in one batch."""
    rng = np.random.default_rng(n_classes)
    shape = (8, n_classes)
    even = np.broadcast_to(10.0 ** rng.uniform(-2.0, 3.0, size=(8, 1)), shape)
    variance = np.concatenate([even, 10.0 ** rng.uniform(-4.0, 3.0, size=shape), np.zeros(shape)])
    mean = rng.uniform(-1.0, 1.0, size=variance.shape) * rng.choice([0.1, 1.0, 7.0, 50.0], (24, 1))
    wanted = np.exp(log_largest(jnp.asarray(mean.T), 1.0 + jnp.asarray(variance.T))).T
    graph = Graph()
    latent = [graph.input(name, np.float64, "rows", n_classes) for name in ("mean", "variance")]
    p = probability_of_largest(*latent, n_classes, np.dtype(dtype))
    graph.output("p", p, "rows", n_classes)
    model = session(graph.content("largest", ("fewknots", ""), {}))
    found = model.run(None, {"mean": mean, "variance": variance})[0]
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE[dtype], rtol=0.0)


@pytest.mark.parametrize("method", ["mean_field", "sparse_mean_field"])
def test_three_classes(method, tmp_path):
    X, y = rows(60)
    fixed = {"learn_kernel": False, "learn_inducing": False, "random_state": 0}
    given = {"n_inducing": 10} if method == "sparse_mean_field" else {}
    classifier = GPClassifier(RBF([1.0, 1.0], 5.0), method=method, **fixed, **given)
    classifier.fit(X, NAMES[y])
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance
    metadata = session((tmp_path / "m.onnx").read_bytes()).get_modelmeta().custom_metadata_map
    assert metadata["likelihood"] == "probit"


def test_samples_are_refused_in_a_sentence(tmp_path):
    X, y = rows(40)
    options = {"predictor": "monte_carlo"}
    classifier = GPClassifier(
        RBF([1.0, 1.0], 5.0), method="mean_field", method_options=options, learn_kernel=False
    )
    with pytest.raises(ValueError, match="no samples of mean field"):
        classifier.fit(X, y).to_onnx(tmp_path / "m.onnx")
