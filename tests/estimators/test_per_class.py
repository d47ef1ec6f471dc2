"""GPClassifier(kernel=[...]): a kernel for each class, from the fit to the file; refusals."""

import numpy as np
import pytest
from sklearn.base import clone

from fewknots import GPClassifier, GPRegressor, load
from fewknots.kernels import RBF, Bounded, Linear, Matern32, PerClass

RNG = np.random.default_rng(1)
X = RNG.normal(size=(90, 2))
SCORES = X @ RNG.normal(size=(2, 3)) + 0.7 * RNG.normal(size=(90, 3))
Y = np.array(["ant", "bee", "cat"])[np.argmax(SCORES, axis=1)]
KERNELS = [RBF(), Matern32(lengthscale=Bounded(0.5, 9.0)), RBF() + Linear()]


def classifier(**options):
    options = {"kernel": KERNELS, "n_inducing": 8, "random_state": 0, "warp": None} | options
    return GPClassifier(**options)


@pytest.fixture(scope="module")
def fitted():
    return classifier(tol=1.0).fit(X, Y)


def test_classes_have_their_kernels_in_sorted_order(fitted):
    kernels = fitted.kernel_.k1.k1, fitted.kernel_.k1.k2, fitted.kernel_.k2
    assert [type(kernel).__name__ for kernel in kernels] == ["RBF", "Matern32", "Sum"]
    assert repr(fitted.kernel_).startswith("[RBF(")
    assert fitted.predict_proba(X).shape == (90, 3)
    assert fitted.score(X, Y) > 0.6


def test_a_file_holds_all_of_it(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert repr(again.kernel_) == repr(fitted.kernel_)
    assert repr(again.kernel) == repr(fitted.kernel)
    assert repr(clone(again).kernel) == repr(fitted.kernel)


def test_minibatches_and_more_rows():
    found = classifier(optimizer="natural_gradient", batch_size=30, max_iter=40, dtype="float64")
    found.fit(X, Y)
    assert found.score(X, Y) > 0.6
    found.partial_fit(X[:20], Y[:20])
    assert isinstance(found.kernel_, PerClass)


def test_a_common_part_and_parts_of_their_own():
    kernel = RBF() + PerClass(PerClass(Linear(), Linear()), Matern32())
    found = classifier(kernel=kernel, tol=1.0).fit(X, Y)
    assert found.predict_proba(X).shape == (90, 3)


def test_no_onnx(fitted, tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(TypeError, match="a kernel for each class"):
        fitted.to_onnx(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("options", "labels", "words"),
    [
        ({"method": "laplace", "n_inducing": "auto"}, Y, "one kernel for all latent functions"),
        ({"method": "local", "n_inducing": "auto"}, Y, "one kernel for all latent functions"),
        ({"optimizer": "rounds"}, Y, "training in rounds"),
        ({"kernel": KERNELS[:2]}, Y, "2 kernels were given.*are 3 classes"),
        ({}, Y == "ant", "3 kernels were given.*is 1 latent function"),
        ({"kernel": []}, Y, "empty list"),
    ],
)
def test_what_it_is_not_for(options, labels, words):
    with pytest.raises(ValueError, match=words):
        classifier(**options).fit(X, labels)


def test_not_for_numbers():
    with pytest.raises(ValueError, match="kernel"):
        GPRegressor(kernel=KERNELS).fit(X, X[:, 0])
