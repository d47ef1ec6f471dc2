"""likelihood="ordinal": classes in an order, which a table or numbers give."""

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, ModelFileError, load
from fewknots.files import container

RNG = np.random.RandomState(4)
X = RNG.uniform(-2.0, 2.0, size=(120, 1))
RANK = np.digitize(np.sin(1.5 * X[:, 0]) + 0.3 * RNG.normal(size=120), [-0.6, 0.2, 0.8])
NAMES = ["never", "at times", "often", "always"]  # not in the order of the alphabet
Y = pd.Series(pd.Categorical.from_codes(RANK, NAMES, ordered=True))
SETTINGS = {"likelihood": "ordinal", "kernel": "rbf", "warp": None, "n_inducing": 6,
            "random_state": 0, "tol": 1e-4}  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return GPClassifier(**SETTINGS).fit(X, Y)


def test_it_learns_the_order_and_the_cut_points(fitted):
    assert list(fitted.classes_) == NAMES
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert fitted.score(X, Y) > 0.6
    assert np.mean(np.abs(p @ np.arange(4) - RANK)) < 0.5
    cuts = np.asarray(fitted._likelihood.cut_points)
    assert np.all(np.diff(cuts) > 0.2)
    mean, _ = fitted.predict_latent(X)
    assert mean.shape == (120,)  # one function for four classes
    assert np.corrcoef(mean, np.sin(1.5 * X[:, 0]))[0, 1] > 0.95


def test_numbers_have_an_order(fitted):
    by_number = GPClassifier(**SETTINGS).fit(X, 10 * RANK)
    assert by_number.log_evidence_ == pytest.approx(fitted.log_evidence_, rel=1e-9)
    np.testing.assert_array_equal(by_number.classes_, [0, 10, 20, 30])


def test_a_file_holds_it(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_log_proba(X), fitted.predict_log_proba(X))
    assert list(again.predict(X[:9])) == list(fitted.predict(X[:9]))
    header, arrays = container.read(tmp_path / "model")
    header["targets"]["odds"]["values"][0] = -1.0
    container.write(tmp_path / "bad", header, arrays)
    with pytest.raises(ModelFileError, match="its odds are not one positive number less"):
        load(tmp_path / "bad")


def test_two_classes_have_a_cut_point_more_than_the_probit():
    two = (RANK > 1).astype(int)
    ordinal = GPClassifier(**SETTINGS).fit(X, two)
    probit = GPClassifier(**SETTINGS | {"likelihood": "probit"}).fit(X, two)
    assert probit.log_evidence_ - 0.01 < ordinal.log_evidence_ < probit.log_evidence_ + 5.0
    decision = ordinal.decision_function(X)
    np.testing.assert_array_equal(decision > 0, ordinal.predict_proba(X)[:, 1] > 0.5)
    gap = np.full((1, 1), np.nan)
    with pytest.warns(UserWarning, match="had a gap"):
        assert np.isfinite(ordinal.decision_function(gap)).all()


@pytest.mark.parametrize("way", ["natural_gradient", "stream", "full_kl"])
def test_other_ways_to_train(way, fitted):
    arguments = {
        "natural_gradient": {"optimizer": "natural_gradient", "max_iter": 200, "dtype": "float64"},
        "stream": {"max_iter": 200, "dtype": "float64"},
        "full_kl": {"method": "full_kl", "n_inducing": "auto"},
    }[way]
    clf = GPClassifier(**SETTINGS | arguments)
    clf = clf.fit_stream(X, RANK) if way == "stream" else clf.fit(X, Y)
    assert fitted.log_evidence_ - 8.0 < clf.log_evidence_ < fitted.log_evidence_ + 2.0


def test_more_rows_later():
    clf = GPClassifier(**SETTINGS | {"learn_kernel": False, "learn_inducing": False})
    clf.partial_fit(X[:60], np.array(NAMES)[RANK[:60]], classes=NAMES)
    clf.partial_fit(X[60:], np.array(NAMES)[RANK[60:]], classes=NAMES)
    assert list(clf.classes_) == NAMES
    assert np.mean(np.abs(clf.predict_proba(X) @ np.arange(4) - RANK)) < 0.7


def test_what_has_no_order_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs the order of the classes, and y holds texts"):
        GPClassifier(**SETTINGS).fit(X, np.array(NAMES)[RANK])
    with pytest.raises(ValueError, match="needs the order of the classes, and y holds texts"):
        GPClassifier(**SETTINGS).fit_stream(X, np.array(NAMES)[RANK])
    with pytest.raises(ValueError, match="method='ep' has no likelihood='ordinal'"):
        GPClassifier(**SETTINGS | {"method": "ep", "n_inducing": "auto"}).fit(X, RANK)
    with pytest.raises(TypeError, match="not for Ordinal"):
        GPClassifier(**SETTINGS).fit(X, RANK).to_onnx(tmp_path / "model.onnx")
