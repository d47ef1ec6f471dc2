"""Exposures of counts, and soft labels: both are weights, and compared with what is equal."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson
from sklearn import config_context

from fewknots import DataError, GPClassifier, GPRegressor
from fewknots.estimators.exposure import SourceOfRates
from fewknots.kernels import RBF
from fewknots.likelihoods import Poisson

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
E = RNG.gamma(2.0, 2.0, 40)
Y = RNG.poisson(E * np.exp(np.sin(2 * X[:, 0]))).astype(float)
FIXED = {"learn_kernel": False, "learn_noise": False, "warp": None, "standardize": False}


def counting(**options):
    return GPRegressor(RBF(lengthscale=1.0), likelihood=Poisson(1.0), **FIXED, **options)


def test_a_row_seen_for_twice_as_long_is_two_rows():
    """Σ of two Poisson counts of equal rates is one of twice the exposure."""
    once = counting(method="full_kl").fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    long = counting(method="full_kl").fit(X, 2 * Y, exposure=np.full(40, 2.0))
    for one, other in zip(once.predict_latent(X), long.predict_latent(X), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)
    # given f, how a count is divided among the halves is binomial, whatever f is
    divided = -2 * Y * np.log(2) + poisson.logpmf(Y, 1.0) * 2 - poisson.logpmf(2 * Y, 2.0)
    wanted = once.log_evidence_ - np.sum(divided + 2 * Y * np.log(2))
    assert long.log_evidence_ == pytest.approx(wanted, abs=1e-6)


def test_predictions_multiply_the_rate():
    reg = counting().fit(X, Y, exposure=E)
    one, many = reg.predict(X), reg.predict(X, exposure=E)
    np.testing.assert_allclose(many, E * one, rtol=1e-9)
    mean, variance = reg.predict_latent(X)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    f = mean[:, None] + np.sqrt(variance)[:, None] * nodes
    p = poisson.pmf(Y[:, None], E[:, None] * np.exp(f)) @ weights / weights.sum()
    np.testing.assert_allclose(reg.predict_log_density(X, Y, exposure=E), np.log(p), atol=1e-6)
    low, high = reg.predict_interval(X, 0.9, exposure=E).T
    below, up_to = reg.pit(X, Y, exposure=E).T
    np.testing.assert_array_equal((low <= Y) & (high >= Y), (up_to >= 0.05) & (below < 0.95))


@pytest.mark.parametrize("features", [None, ["a", "b"]])
def test_a_stream_has_its_exposure_in_a_column(tmp_path, features):
    weights = RNG.gamma(2.0, 0.5, 40)
    table = pd.DataFrame({"a": X[:, 0], "hours": E, "b": X[:, 1], "y": Y, "w": weights})
    path = str(tmp_path / "t.parquet")
    table.to_parquet(path)
    source = SourceOfRates.opened(path, "y", features, "w", "hours")
    (block,) = source.blocks()
    assert (source.feature_names, source.n_features) == (("a", "b"), 2)
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_allclose(block.labels, Y / E)
    np.testing.assert_allclose(block.weights, weights * E)
    reg = counting(method="sparse_kl", inducing_points=X[:10], max_iter=20, random_state=0)
    reg.fit_stream(path, "y", features=features, weight="w", exposure="hours")
    assert list(reg.feature_names_in_) == ["a", "b"]
    ratio = reg.predict(table[["a", "b"]], exposure=E).sum() / Y.sum()
    assert 0.5 < ratio < 2.0  # of rates without exposure it would be five times that


def test_the_exposure_of_a_stream_is_positive(tmp_path):
    table = pd.DataFrame({"a": X[:, 0], "hours": E, "y": Y})
    table.loc[7, "hours"] = 0.0
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"t\.csv, line 9: the exposure is 0"):
        counting(method="sparse_kl").fit_stream(str(tmp_path / "t.csv"), "y", exposure="hours")
    with pytest.raises(ValueError, match="the name of a column"):
        counting(method="sparse_kl").fit_stream(X, Y, exposure=E)


@pytest.mark.parametrize(
    ("likelihood", "exposure", "message"),
    [
        ("gaussian", E, "exposure is for likelihood='poisson'"),
        ("negative_binomial", E, "exposure is for likelihood='poisson'"),
        ("poisson", E[:3], "X has 40 rows, but exposure has 3"),
        ("poisson", E - E[5], "exposure must be positive, but row"),
    ],
)
def test_what_is_no_exposure(likelihood, exposure, message):
    with pytest.raises(ValueError, match=message):
        GPRegressor(likelihood=likelihood).fit(X, Y, exposure=exposure)


def test_exposure_is_routed_as_scikit_learn_has_it():
    with config_context(enable_metadata_routing=True):
        reg = GPRegressor().set_fit_request(exposure=True).set_predict_request(exposure=True)
        assert reg.get_metadata_routing().fit.requests["exposure"] is True


# --- soft labels ----------------------------------------------------------------------------------


def classifying(**options):
    return GPClassifier(RBF(), method="full_kl", learn_kernel=False, warp=None, **options)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_soft_labels_are_weighted_rows(n_classes):
    P = RNG.dirichlet(np.full(n_classes, 0.5), 40)
    P[:5] = np.eye(n_classes)[np.arange(5) % n_classes]
    weights = RNG.gamma(2.0, 0.5, 40)
    soft = classifying().fit(X, P, weights)
    rows = np.repeat(X, n_classes, axis=0)
    labels = np.tile(np.arange(n_classes), 40)
    hard = classifying().fit(rows, labels, (weights[:, None] * P).ravel())
    assert soft.classes_.tolist() == list(range(n_classes))
    np.testing.assert_allclose(soft.predict_proba(X), hard.predict_proba(X), atol=1e-8)
    assert soft.log_evidence_ == pytest.approx(hard.log_evidence_, rel=1e-9)


def test_columns_of_soft_labels_name_the_classes():
    P = pd.DataFrame({"no": [0.9, 0.2] * 20, "yes": [0.1, 0.8] * 20})
    clf = classifying().fit(X, P)
    assert clf.classes_.tolist() == ["no", "yes"]
    sure = classifying().fit(X, pd.DataFrame(np.eye(2)[np.arange(40) % 2], columns=["no", "yes"]))
    plain = classifying().fit(X, np.array(["no", "yes"])[np.arange(40) % 2])
    np.testing.assert_allclose(sure.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_columns_of_soft_labels_are_in_the_order_of_the_classes():
    """Weighted rows again; their order is not the alphabet's."""
    names = ["low", "middle", "high"]
    P = RNG.dirichlet(np.full(3, 0.5), 40)
    soft = classifying(likelihood="ordinal").fit(X, pd.DataFrame(P, columns=names))
    hard = classifying(likelihood="ordinal").fit(
        np.repeat(X, 3, axis=0), np.tile(np.arange(3), 40), P.ravel()
    )
    assert soft.classes_.tolist() == names
    np.testing.assert_allclose(soft.predict_proba(X), hard.predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="must be different and sorted"):
        classifying().fit(X, pd.DataFrame(P, columns=names))


@pytest.mark.parametrize(
    ("P", "options", "message"),
    [
        (np.full((40, 2), 0.6), {}, "y should be a 1d array of labels, or have a probability"),
        (np.tile([1.5, -0.5], (40, 1)), {}, "row 0 does not"),
        (np.full((40, 2), 0.5), {"method": "local"}, "not with method='local'"),
    ],
)
def test_what_are_no_soft_labels(P, options, message):
    with pytest.raises(ValueError, match=message):
        GPClassifier(**options).fit(X, P)
