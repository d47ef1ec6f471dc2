"""Every kind of bad input, and the message a user sees."""

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, InputWarning, NumericalError
from fewknots.kernels import RBF


def quick(**arguments):
    arguments = {"n_inducing": 8, "max_iter": 200, "tol": 1e-2, "random_state": 0} | arguments
    return GPClassifier(**arguments)


def with_value(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (with_value(X, np.inf), y), "Input X contains infinity"),
        (
            lambda X, y: (with_value(X, 1e300), y),
            r"column 1 of X holds 1e\+300 in row 3, too large",
        ),
        (lambda X, y: (X[:0], y[:0]), "Found array with 0 sample"),
        (lambda X, y: (X[:, :0], y), r"0 feature\(s\)"),
        (lambda X, y: (X, np.zeros(80)), r"y holds 1 class \(.*0.*\); two classes are needed"),
        (
            lambda X, y: (np.repeat(X, 20, axis=0), np.arange(1600)),
            r"y holds 1,600 different labels \(0, 1, 2, 3, 4, \.\.\.\), .* Is the target a number",
        ),
        (lambda X, y: (X, X[:, 0]), "Unknown label type: continuous"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[0], y), "Expected 2D array"),
        (
            lambda X, y: (pd.DataFrame({"a": X[:, 0], "wave": X[:, 1] + 1j}), y),
            "column 'wave' of X holds complex numbers",
        ),
        (
            lambda X, y: (pd.DataFrame({"b": ["x"] * 80}), y),
            "no column can be used as an input: 'b' never changes",
        ),
        (
            lambda X, y: (
                pd.DataFrame({"a": with_value(X, np.inf)[:, 1], "b": ["x", "y"] * 40}),
                y,
            ),
            "X, row 3: column 'a' is infinite",
        ),
    ],
)
def test_training_data(moons, change, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(*change(*moons))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(80) == 5, -1.0, 1.0), "must not be negative, but row 5 has -1"),
        (np.zeros(80), "at least one non-zero"),
        (np.ones(79), "sample_weight.shape"),
        (np.full(80, np.nan), "contains NaN"),
    ],
)
def test_weights(moons, weights, message):
    X, y = moons
    with pytest.raises(ValueError, match=message):
        quick().fit(X, y, sample_weight=weights)


def test_weights_that_leave_one_class(moons):
    X, y = moons
    with pytest.raises(ValueError, match="two classes are needed"):
        quick().fit(X, y, sample_weight=(y == 1).astype(float))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_inducing": 0}, "n_inducing must be a whole number of at least 1, got 0"),
        ({"n_inducing": 2.5}, "n_inducing must be a whole number"),
        ({"n_inducing": "many"}, "n_inducing must be a whole number"),
        ({"inducing_points": np.ones((4, 2))}, r"must have shape \(M, 3\).*got \(4, 2\)"),
        ({"inducing_points": np.full((4, 3), np.nan)}, "inducing_points holds NaN or infinity"),
        ({"kernel": "spline"}, "unknown kernel 'spline'"),
        ({"kernel": RBF(lengthscale=[1.0, 2.0])}, "RBF.lengthscale must have one value or 3"),
        (
            {"likelihood": "cauchit"},
            "likelihood must be one of 'auto', 'probit', 'logit', 'softmax', 'ordinal', "
            "got 'cauchit'",
        ),
        ({"method": "magic"}, "method must be one of"),
        ({"optimizer": "sgd"}, "optimizer must be one of"),
        ({"inducing_init": "grid"}, "inducing_init must be one of"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
        ({"jitter": 0.0}, "jitter must be a positive number"),
        ({"dtype": "int32"}, "dtype must be 'float32', 'float64' or None"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"class_weight": {5: 1.0}}, r"class_weight names 5, but the classes in y are \[0, 1\]"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold non-negative numbers"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_arguments(moons, arguments, message):
    X, y = moons
    with pytest.raises(ValueError, match=message):
        quick(**arguments).fit(X, y)


def test_a_kernel_of_the_wrong_type(moons):
    with pytest.raises(TypeError, match="a kernel must be a fewknots kernel"):
        quick(kernel=42.0j).fit(*moons)


def test_more_inducing_points_than_rows(moons):
    X, y = moons
    with pytest.warns(InputWarning, match="n_inducing=500 is more than the 80 distinct rows"):
        clf = quick(n_inducing=500, learn_kernel=False, learn_inducing=False).fit(X, y)
    assert len(clf.inducing_points_) == 80


def test_a_constant_column(moons):
    X, y = moons
    X = np.column_stack([X, np.full(80, 7.0)])
    with pytest.warns(InputWarning, match="column 3 of X never changes, so it contains"):
        clf = quick().fit(X, y)
    assert clf.score(X, y) > 0.8
    frame = pd.DataFrame(X, columns=["a", "b", "c", "unit"])
    with pytest.warns(InputWarning, match="column 'unit' of X never changes"):
        quick().fit(frame, y)


def test_identical_rows(moons):
    _, y = moons
    X = np.ones((80, 2))
    with pytest.warns(InputWarning, match="all rows of X are identical"):
        clf = quick(n_inducing="auto").fit(X, y)
    p = clf.predict_proba(X)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(p[:, 1], y.mean(), atol=0.05)


@pytest.fixture(scope="module")
def fitted(moons):
    X, y = moons
    return quick().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda X: pd.DataFrame(X, columns=["a", "b", "z"]), "feature names should match"),
        (lambda X: pd.DataFrame(X, columns=["b", "a", "c"]), "must be in the same order"),
        (lambda X: pd.DataFrame(X[:, :2], columns=["a", "b"]), "feature names should match"),
        (lambda X: pd.DataFrame(with_value(X, -np.inf), columns=["a", "b", "c"]), "infinity"),
        (
            lambda X: pd.DataFrame(with_value(X, 1e200), columns=["a", "b", "c"]),
            "column 'b' of X hol",
        ),
    ],
)
def test_prediction_data(fitted, moons, table, message):
    X, _ = moons
    with pytest.raises(ValueError, match=message):
        fitted.predict(table(X))


def test_wrong_number_of_features(moons):
    X, y = moons
    clf = quick().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but GPClassifier is expecting 3"):
        clf.predict(X[:, :2])


def test_a_failed_fit_keeps_the_old_model(moons):
    X, y = moons
    clf = quick().fit(X, y)
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="infinity"):
        clf.fit(with_value(X[:, :2], np.inf), y)
    with pytest.raises(ValueError, match="1 class"):
        clf.fit(X[:, :2], np.zeros(80))

    def interrupt(progress):
        raise KeyboardInterrupt

    clf.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X[:, :2], y)
    assert clf.n_features_in_ == 3
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_a_fit_that_cannot_go_on_names_what_broke(moons):
    """Float32 cannot hold this kernel's range: an error with a name, never NaN probabilities."""
    X, y = moons
    clf = quick(kernel=RBF(1.0, 1e38), dtype="float32", learn_kernel=False, learn_inducing=False)
    with pytest.raises(NumericalError, match="dtype='float64'"):
        clf.fit(X, y)
    assert not hasattr(clf, "classes_")


def test_extreme_but_legal_data(moons):
    """Separable, tiny, huge, and duplicated: finite probabilities throughout."""
    X, y = moons
    for change in (1e-90, 1e90):
        clf = quick().fit(X * change, y)
        assert np.all(np.isfinite(clf.predict_proba(X * change)))
    separable = np.where(y[:, None] == 1, 1.0, -1.0) + 1e-3 * X
    clf = quick(max_iter=1000).fit(separable, y)
    p = clf.predict_proba(separable)
    assert np.all(np.isfinite(p))
    assert clf.score(separable, y) == 1.0
