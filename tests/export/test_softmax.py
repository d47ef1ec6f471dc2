"""Three classes and more: the series for E[softmax], and whole graphs beside `predict_proba`."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from fewknots import GPClassifier
from fewknots.kernels import RBF, Constant
from fewknots.numerics.gumbel import log_softmax_mean

from ..numerics.test_gumbel import TWO, by_adaptive_quadrature

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from fewknots.export.graph import Graph  # noqa: E402
from fewknots.export.softmax import expected_softmax  # noqa: E402

from .test_classifier import TOLERANCE, compare, places, quick, session  # noqa: E402

NAMES = np.array(["ant", "bee", "cat"])


def in_onnxruntime(mean, variance, dtype):
    """Of N×C means and variances."""
    graph, n_classes = Graph(), mean.shape[1]
    latent = [graph.input(name, np.float64, "rows", n_classes) for name in ("mean", "variance")]
    graph.output("p", expected_softmax(*latent, n_classes, np.dtype(dtype)), "rows", n_classes)
    model = graph.content("softmax", ("fewknots", ""), {})
    return session(model).run(None, {"mean": mean, "variance": variance})[0]


def rows(n=120):
    """Three sectors of a plane, with some noise."""
    rng = np.random.default_rng(0)
    X = np.array([3.0, -2.0]) + rng.normal(size=(n, 2))
    angle = np.arctan2(X[:, 1] + 2.0, X[:, 0] - 3.0) + 0.3 * rng.normal(size=n)
    return X, ((angle + np.pi) // (2.0 * np.pi / 3.0)).astype(int) % 3


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    return quick(learn_kernel=False).fit(X, NAMES[y])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_two_classes_against_adaptive_quadrature(dtype):
    cases = [case for case in TWO if max(case[1]) <= 100.0]
    found = in_onnxruntime(*(np.array(part) for part in zip(*cases, strict=True)), dtype)
    for p, (mean, variance) in zip(found, cases, strict=True):
        _, first, _ = by_adaptive_quadrature(mean, variance)
        assert p[0] == pytest.approx(first, abs=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n_classes", [2, 3, 10, 26, 100])
def test_variances_up_to_a_hundred_and_means_up_to_fifty(n_classes, dtype, float64):
    """Of one size in a row, small ones beside large ones, and none; all of it in one batch."""
    rng = np.random.default_rng(n_classes)
    shape = (12, n_classes)
    even = 10.0 ** rng.uniform(-2.0, 2.0, size=(12, 1)) * rng.uniform(0.5, 1.0, size=shape)
    variance = np.concatenate([even, 10.0 ** rng.uniform(-4.0, 2.0, size=shape), np.zeros(shape)])
    mean = rng.uniform(-1.0, 1.0, size=variance.shape) * rng.choice([0.1, 1.0, 7.0, 50.0], (36, 1))
    wanted = np.exp(log_softmax_mean(jnp.asarray(mean.T), jnp.asarray(variance.T))).T
    found = in_onnxruntime(mean, variance, dtype)
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE[dtype], rtol=0.0)
    np.testing.assert_allclose(found[24:], softmax(mean[24:], axis=1), atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_far_outside_it_is_still_a_probability(dtype):
    """Variances that no row of frequencies resolves, and means beyond all measure."""
    mean = np.array([[0.0, 0.0, -1e9], [1e6, -1e6, 0.0], [30.0, 0.0, -900.0], [0.0, 0.0, -1e5]])
    variance = np.array([[1e4, 0.0, 0.0], [0.0, 1e3, 0.0], [1e4, 0.0, 1e4], [1e8, 1e8, 1e-9]])
    found = in_onnxruntime(mean, variance, dtype)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.min() >= 0.0
    # The largest of Gaussians this wide: the noise makes no difference.
    wanted = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.6179, 0.3821, 0.0], [0.5, 0.5, 0.0]]
    np.testing.assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "matern32 * linear + constant"])
def test_three_classes(kernel, tmp_path):
    X, y = rows()
    classifier = quick(kernel, learn_kernel=False).fit(X, NAMES[y])
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance


@pytest.mark.computes
@pytest.mark.parametrize("n_classes", [10, 26])
def test_many_classes(n_classes, tmp_path):
    X = np.random.default_rng(1).normal(size=(130, 3))
    y = np.arange(130) % n_classes
    classifier = quick(RBF(1.0, 4.0) + Constant(0.1), learn_kernel=False).fit(X, y)
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance


def test_the_softmax_of_two_classes(moons, tmp_path):
    X, y = moons
    classifier = quick(likelihood="softmax", learn_kernel=False).fit(X, y)
    classifier.to_onnx(tmp_path / "m.onnx", dtype="float64")
    found, labels = session(tmp_path / "m.onnx").run(["probabilities", "label"], {"X": X})
    wanted = classifier.predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    np.testing.assert_array_equal(labels, np.argmax(wanted, axis=1))


@pytest.mark.parametrize("labels", [NAMES, [-3, 7, 2**40], [1.0, 2.0, 3.0]], ids=str)
def test_labels(labels, tmp_path):
    X, y = rows()
    classifier = quick(learn_kernel=False).fit(X, np.asarray(labels)[y])
    classifier.to_onnx(tmp_path / "m.onnx")
    model = session(tmp_path / "m.onnx")
    found = model.run(["label"], {"X": X.astype(np.float32)})[0]
    assert found.tolist() == classifier.predict(X).tolist()
    assert model.get_modelmeta().custom_metadata_map["likelihood"] == "softmax"


def test_any_number_of_rows(fitted, tmp_path):
    X, _ = rows(700)
    fitted.to_onnx(tmp_path / "m.onnx", dtype="float64")
    model = session(tmp_path / "m.onnx")
    assert model.get_outputs()[0].shape == ["rows", 3]
    for count in (0, 1, 7, 700):
        found, labels = model.run(["probabilities", "label"], {"X": X[:count]})
        assert found.shape == (count, 3)
        assert labels.shape == (count,)
        if count:
            np.testing.assert_allclose(found, fitted.predict_proba(X[:count]), atol=1e-10)


def test_a_missing_number_spoils_its_own_row_alone(fitted, tmp_path):
    X, _ = rows()
    fitted.to_onnx(tmp_path / "m.onnx", dtype="float64")
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    found = session(tmp_path / "m.onnx").run(["probabilities"], {"X": spoilt})[0]
    assert np.isnan(found[3]).all()
    others = np.arange(len(X)) != 3
    np.testing.assert_allclose(found[others], fitted.predict_proba(X[others]), atol=1e-10)


def test_the_file_is_as_large_as_its_numbers(fitted, tmp_path):
    """C projections of M×M."""
    X, y = rows(100)
    classifier = GPClassifier(n_inducing=80, learn_kernel=False, learn_inducing=False, tol=1e-2)
    classifier.fit(X, y).to_onnx(tmp_path / "m.onnx")
    numbers = 4 * 80 * (3 * 80 + 2)
    assert numbers < (tmp_path / "m.onnx").stat().st_size < 1.1 * numbers + 25_000
