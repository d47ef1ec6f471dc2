"""A pipeline of scattering and a classifier: digits, one file, one graph, equal rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewknots
from fewknots import GPClassifier, GPRegressor, ModelFileError
from fewknots.export import to_onnx
from fewknots.files import container
from fewknots.images import Scattering
from fewknots.kernels import RBF, Linear

ROWS, DIGITS = load_digits(n_class=3, return_X_y=True)
LEARN, TEST = slice(0, 200), slice(200, 500)
FIXED = {"learn_kernel": False, "learn_inducing": False, "random_state": 0, "warp": None}


def pipeline(dtype="float32", nonlinearity="root"):
    images = Scattering(2, 4, nonlinearity=nonlinearity, n_components=20, shape=(8, 8), dtype=dtype)
    kernel = RBF(variance=9.0, lengthscale=4.0)
    classifier = GPClassifier(
        kernel, ard=False, standardize=False, method="sparse_kl", n_inducing=30, **FIXED
    )
    return make_pipeline(images, classifier)


@pytest.fixture(scope="module")
def fitted():
    return pipeline().fit(ROWS[LEARN], DIGITS[LEARN])


def test_digits_are_told_apart(fitted):
    assert fitted.score(ROWS[TEST], DIGITS[TEST]) > 0.95


def test_one_file(fitted, tmp_path):
    path = tmp_path / "digits.fewknots"
    fewknots.save(fitted, path)
    again = fewknots.load(path)
    assert [name for name, _ in again.steps] == ["scattering", "gpclassifier"]
    wanted = fitted.predict_log_proba(ROWS[TEST])
    np.testing.assert_array_equal(again.predict_log_proba(ROWS[TEST]), wanted)
    assert again[0].get_params() == fitted[0].get_params()
    np.testing.assert_array_equal(again[0].explained_variance_, fitted[0].explained_variance_)
    fewknots.save(again, path)  # a model that was loaded can be saved
    fewknots.save(fitted[1], path)  # and what has a save of its own
    assert isinstance(fewknots.load(path), GPClassifier)


def test_of_numbers_too(tmp_path):
    images = Scattering(1, 4, nonlinearity=None, n_components=None, stride=4)
    ink = ROWS[:80].mean(axis=1)
    regressor = GPRegressor(Linear(), standardize=False, method="sparse_kl", **FIXED)
    model = make_pipeline(images, regressor).fit(ROWS[:80].reshape(-1, 8, 8), ink)
    fewknots.save(model, tmp_path / "ink.fewknots")
    again = fewknots.load(tmp_path / "ink.fewknots")
    np.testing.assert_array_equal(again.predict(ROWS[:80]), model.predict(ROWS[:80]))


def test_what_is_no_model(fitted, tmp_path):
    path = tmp_path / "other.fewknots"
    rows, digits = ROWS[:100], DIGITS[:100]
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, digits)
    with pytest.raises(TypeError, match="this one has StandardScaler, LogisticRegression"):
        fewknots.save(scaled, path)
    other = make_pipeline(fitted[0], LogisticRegression().fit(fitted[0].transform(rows), digits))
    with pytest.raises(TypeError, match="the last step is a LogisticRegression"):
        fewknots.save(other, path)
    with pytest.raises(TypeError, match="a dict is not a model of fewknots"):
        fewknots.save({}, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told["images"]["image_shape"].pop(), "its images are"),
        (lambda told: told["images"].update(image_shape=[8, 4, 2]), "needs at least 8 pixels"),
        (lambda told: told["images"].update(image_shape=[8, 12, 1]), "of shape"),
        (lambda told: told["images"]["arguments"].update(J=9), "J can be at most 3"),
        (lambda told: told["images"]["arguments"].update(L="x" * 9), "L must be"),
        (lambda told: told["images"]["arguments"].update(n_components=3), "20 components"),
        (lambda told: told.update(names=["a", "a"]), "names of its steps"),
        (lambda told: told.update(names=[[], "a"]), "names of its steps"),
        (lambda told: told["images"].update(feature_names=["a"]), "64 names"),
        (lambda told: told.pop("estimator"), "estimator"),
    ],
)
def test_files_are_not_trusted(fitted, tmp_path, change, message):
    path = tmp_path / "changed.fewknots"
    fewknots.save(fitted, path)
    header, arrays = container.read(path)
    change(header["pipeline"])
    container.write(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        fewknots.load(path)


@pytest.mark.parametrize(
    ("dtype", "nonlinearity", "tolerance"), [("float32", "root", 1e-5), ("float64", "log", 1e-10)]
)
def test_one_graph(fitted, dtype, nonlinearity, tolerance, tmp_path):
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = fitted
    if dtype == "float64":
        model = pipeline(dtype, nonlinearity).fit(ROWS[LEARN], DIGITS[LEARN])
    path = tmp_path / "digits.onnx"
    to_onnx(model, path, dtype=dtype)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows = ROWS[TEST][:100].astype(dtype)
    found, labels = session.run(["probabilities", "label"], {"X": rows})
    assert np.abs(found - model.predict_proba(rows)).max() < tolerance
    assert np.mean(labels == model.predict(rows)) > 0.98


def test_colours_and_all_coefficients_as_a_graph(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    images = np.random.default_rng(0).random((40, 10, 13, 2))
    y = images[:, :5].mean(axis=(1, 2, 3)) > images[:, 5:].mean(axis=(1, 2, 3))
    scattering = Scattering(2, 3, stride=3, n_components=None, dtype="float64")
    classifier = GPClassifier(Linear(), standardize=False, method="sparse_kl", **FIXED)
    model = make_pipeline(scattering, classifier).fit(images, y)
    to_onnx(model, tmp_path / "colours.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "colours.onnx")
    found = session.run(["probabilities"], {"X": images.reshape(40, -1)})[0]
    np.testing.assert_allclose(found, model.predict_proba(images), atol=1e-10)


@pytest.mark.slow
def test_many_points_where_features_coincide_keep_their_footing():
    """Every image three times and as many points as rows: float32, by minibatches."""
    rows, digits = np.repeat(ROWS[:40], 3, axis=0), np.repeat(DIGITS[:40], 3)
    Z = Scattering(2, 4, n_components=20, shape=(8, 8)).fit_transform(rows)
    nearly = Z + 1e-5 * np.random.default_rng(0).normal(size=Z.shape).astype(np.float32)
    for points in (Z, nearly, Z[:1] + 1e-4 * nearly):
        clf = GPClassifier(
            "rbf", ard=False, standardize=False, warp=None, method="sparse_kl", dtype="float32",
            optimizer="natural_gradient", inducing_points=points, max_iter=20, tol=0.0,
            random_state=0,
        ).fit(Z, digits)  # fmt: skip
        assert np.isfinite(clf.predict_log_proba(Z)).all()
        assert np.isfinite(clf.predict_latent(Z)[1]).all()
        assert np.isfinite(clf.log_evidence_)
        assert np.isfinite(clf.kernel_.lengthscale)
    assert clf.inducing_points_.shape == (120, 20)
