"""ONNX graphs in onnxruntime beside `predict_proba`."""

import sys

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.files import container
from fewknots.kernels import (
    KERNELS,
    RBF,
    Constant,
    Linear,
    Matern12,
    Matern52,
    Periodic,
    Polynomial,
    Warp,
)

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
    second, first = np.sort(wanted, axis=1)[:, -2:].T
    undecided = first - second < 2e-4
    np.testing.assert_array_equal(labels[~undecided], classifier.predict(rows)[~undecided])
    return np.abs(found - wanted).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warped_inputs(dtype, moons, tmp_path):
    """Learned, of some columns, with tails and a logarithm among them; far points keep others."""
    X, y = moons
    X = np.column_stack([np.sinh(2.0 * X[:, 0]), X[:, 1] > 5.0, np.exp(4.0 * X[:, 2])])
    X[3, 0] = 1e9
    classifier = quick("matern32 + linear", tol=0.1).fit(X, y)
    assert isinstance(classifier.kernel_, Warp)
    assert classifier.kernel_.columns == (0, 2)
    assert compare(classifier, places(X), tmp_path / "model.onnx", dtype) < TOLERANCE[dtype]
    slopes = [np.exp(-1.0), np.exp(-1.0) * (1.0 + 1e-6), 0.1], [1.0, 0.6, 1.4]
    fixed = Warp(RBF(), *slopes) + Warp(Linear(), *slopes)
    classifier = quick(fixed, learn_kernel=False).fit(X, y)
    assert compare(classifier, X, tmp_path / "model.onnx", dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(columns=[2, 0]) + Linear(columns=[1]),
        Periodic(columns=[1]) * Polynomial(degree=3, columns=[0, 2]) + Constant(0.5),
    ],
    ids=repr,
)
def test_chosen_columns(kernel, moons, tmp_path):
    X, y = moons
    classifier = quick(kernel).fit(X, y)
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance


def test_an_inherited_hook_of_another_formula_is_refused(moons, tmp_path):
    class Cauchy(RBF):
        def correlation(self, r2):
            return 1.0 / (1.0 + r2)

    classifier = quick(Cauchy(), warp=None).fit(*moons)
    with pytest.raises(TypeError, match=r"operations of the kernel Cauchy\(.* other numbers"):
        classifier.to_onnx(tmp_path / "m.onnx")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("likelihood", ["probit", "logit"])
@pytest.mark.parametrize("kernel", [*KERNELS, *JOINED])
def test_every_kernel_and_link(kernel, likelihood, moons, tmp_path):
    X, y = moons
    classifier = quick(kernel, likelihood=likelihood).fit(X, y)
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < tolerance


@pytest.mark.parametrize("variance", [10.0, 1000.0])
def test_a_certain_model_in_float32(variance, moons, tmp_path):
    """A large kernel variance and a small posterior one: most digits of the two cancel."""
    X, y = moons
    classifier = quick(RBF(2.0, variance), learn_kernel=False).fit(X, y)
    assert compare(classifier, places(X), tmp_path / "m.onnx", "float32") < 1e-5


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_distances_keep_their_digits(dtype, tmp_path):
    """Short lengthscales, rows far from zero, and nearly equal ones: as points and as rows."""
    rng = np.random.default_rng(0)
    X = 1e3 + rng.normal(size=(60, 2))
    X[30:] = X[:30] + 1e-4 * rng.normal(size=(30, 2))
    classifier = GPClassifier(
        Matern12(0.05), method="full_kl", learn_kernel=False, standardize=False
    ).fit(X, X[:, 0] > 1e3)
    rows = np.concatenate([X, X + 1e-6])
    assert compare(classifier, rows, tmp_path / "m.onnx", dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_many_inputs(dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = 100.0 + rng.normal(size=(50, 40))
    classifier = quick(Matern52() + Linear(), learn_kernel=False).fit(X, X[:, 0] > 100.0)
    assert compare(classifier, places(X), tmp_path / "m.onnx", dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("predictor", ["gaussian", "monte_carlo"])
def test_both_kinds_of_posterior(predictor, dtype, moons, tmp_path):
    X, y = moons
    options = {"method": "mean_field", "method_options": {"predictor": predictor}}
    classifier = GPClassifier(**options, tol=1e-2, random_state=0).fit(X, y)
    rows = places(X)[:200]
    assert compare(classifier, rows, tmp_path / "m.onnx", dtype) < TOLERANCE[dtype]


@pytest.mark.parametrize("sigma", [0.5, 3.0, 30.0])
def test_the_logits_quadrature_at_every_width(sigma, tmp_path):
    """One point far from all rows: what it knows does not reach them, so σ is the prior's."""
    classifier = GPClassifier(
        Constant(1e-6) + RBF(1.0, sigma**2) * Constant(1.0),
        likelihood="logit",
        learn_kernel=False,
        learn_inducing=False,
        inducing_points=[[50.0], [0.5]],
        standardize=False,
    ).fit([[0.0], [1.0], [0.3], [0.6]], [0, 1, 0, 1])
    rows = np.linspace(-8.0, 8.0, 400)[:, None]
    assert classifier.predict_latent(rows)[1].max() > 0.9 * sigma**2
    for dtype, tolerance in TOLERANCE.items():
        assert compare(classifier, rows, tmp_path / "m.onnx", dtype) < tolerance


@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_any_number_of_rows(likelihood, moons, tmp_path):
    X, y = moons
    classifier = quick(likelihood=likelihood, learn_kernel=False).fit(X, y)
    classifier.to_onnx(tmp_path / "m.onnx", dtype="float64")
    model = session(tmp_path / "m.onnx")
    assert model.get_inputs()[0].shape == ["rows", 3]
    for count in (0, 1, 7, 80):
        found, labels = model.run(["probabilities", "label"], {"X": X[:count]})
        assert found.shape == (count, 2)
        assert labels.shape == (count,)
        if count:
            np.testing.assert_allclose(found, classifier.predict_proba(X[:count]), atol=1e-10)


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["no", "yes"], [-3, 7], [1.0, 2.0], np.array(["nein", "ja"], dtype=object)],
    ids=str,
)
def test_labels(labels, moons, tmp_path):
    X, y = moons
    classifier = quick(learn_kernel=False).fit(X, np.asarray(labels)[y])
    classifier.to_onnx(tmp_path / "m.onnx")
    found = session(tmp_path / "m.onnx").run(["label"], {"X": X.astype(np.float32)})[0]
    assert found.tolist() == classifier.predict(X).tolist()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_file_is_as_large_as_its_numbers(dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    classifier = GPClassifier(
        "rbf + matern32 + linear", n_inducing=150, inducing_init="random", learn_kernel=False
    ).set_params(learn_inducing=False, tol=1e-2, random_state=0)
    classifier.fit(X, X[:, 0] > 0).to_onnx(tmp_path / "m.onnx", dtype=dtype)
    numbers = 150 * (150 + 20) * np.dtype(dtype).itemsize
    assert numbers < (tmp_path / "m.onnx").stat().st_size < 1.1 * numbers + 20_000


def test_the_graph_says_what_it_is(moons, tmp_path):
    X, y = moons
    quick(learn_kernel=False).fit(X, y).to_onnx(tmp_path / "m.onnx")
    model = session(tmp_path / "m.onnx").get_modelmeta()
    assert model.producer_name == "fewknots"
    assert model.custom_metadata_map["classes"] == "[0, 1]"
    assert "RBF" in model.custom_metadata_map["kernel"]


def test_it_is_written_whole_or_not_at_all(moons, tmp_path, monkeypatch):
    X, y = moons
    classifier = quick(learn_kernel=False).fit(X, y)
    path = tmp_path / "m.onnx"
    path.write_text("what was there")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        classifier.to_onnx(path)
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_exported(moons, tmp_path, monkeypatch):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        GPClassifier().to_onnx(tmp_path / "m.onnx")
    X, y = moons
    classifier = quick(learn_kernel=False).fit(X, y)
    for dtype in ("float16", "int8", "nonsense"):
        with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'"):
            classifier.to_onnx(tmp_path / "m.onnx", dtype=dtype)
    for name in [name for name in sys.modules if name.startswith("fewknots.export.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fewknots\[onnx\]'"):
        classifier.to_onnx(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_a_missing_number_spoils_its_own_row_alone(likelihood, moons, tmp_path):
    X, y = moons
    classifier = quick(likelihood=likelihood, learn_kernel=False).fit(X, y)
    classifier.to_onnx(tmp_path / "m.onnx", dtype="float64")
    rows = X.copy()
    rows[3, 1] = np.nan
    found = session(tmp_path / "m.onnx").run(["probabilities"], {"X": rows})[0]
    assert np.isnan(found[3]).all()
    others = np.arange(len(X)) != 3
    np.testing.assert_allclose(found[others], classifier.predict_proba(X[others]), atol=1e-10)


def test_a_model_fitted_in_float32(moons, tmp_path):
    """The graph is the more exact of the two: `predict_proba` then rounds more than it does."""
    X, y = moons
    classifier = quick(dtype="float32").fit(X, y)
    found = {}
    for dtype in TOLERANCE:
        assert compare(classifier, X, tmp_path / "m.onnx", dtype) < 1e-3
        rows = X.astype(np.float32).astype(dtype)
        found[dtype] = session(tmp_path / "m.onnx").run(["probabilities"], {"X": rows})[0]
    np.testing.assert_allclose(found["float32"], found["float64"], atol=1e-5)
