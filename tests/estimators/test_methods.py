"""Every method behind GPClassifier(method=...), as a user meets it."""

import numpy as np
import pytest

from fewknots import GPClassifier, load
from fewknots.fitting.settings import CLASSIFICATION

SPARSE = ("sparse_kl", "fitc_ep", "sparse_mean_field", "two_stage", "ivm")
FULL = ("full_kl", "ep", "mean_field", "laplace")


def quick(method, **arguments):
    arguments = {"max_iter": 100, "tol": 1e-3, "random_state": 0} | arguments
    if method in SPARSE:
        arguments = {"n_inducing": 40 if method == "ivm" else 8} | arguments
    return GPClassifier(method=method, **arguments)


@pytest.mark.parametrize("method", [*SPARSE, *FULL])
def test_learns_saves_and_loads(tmp_path, moons, method):
    X, y = moons
    clf = quick(method).fit(X, y)
    assert clf.method_ == method
    assert clf.score(X, y) > 0.85
    assert np.isfinite(clf.log_evidence_)
    held = quick(method, learn_kernel=False, learn_inducing=False).fit(X, y)
    if method != "ivm":  # whose evidence is of other rows each time
        assert clf.log_evidence_ > held.log_evidence_ + 0.5
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_log_proba(X), clf.predict_log_proba(X))
    assert again.method_ == method
    assert again.evidence_is_bound_ == clf.evidence_is_bound_
    assert len(clf.inducing_points_) == {"ivm": 40}.get(method, 8 if method in SPARSE else 80)
    np.testing.assert_array_equal(again.inducing_points_, clf.inducing_points_)


def test_all_methods_of_the_paper_are_there():
    assert set(CLASSIFICATION) == {*SPARSE, *FULL, "local"}  # and one more


def test_ivm_chooses_rows_of_the_table(moons):
    X, y = moons
    clf = quick("ivm", n_inducing=12, learn_kernel=False).fit(X, y)
    assert clf.inducing_points_.shape == (12, 3)
    for point in clf.inducing_points_:
        assert np.min(np.abs(X - point).max(axis=1)) < 1e-12
    # With revisits the sites are EP's; without them they stay as they were when taken in.
    plain = quick("ivm", n_inducing=12, learn_kernel=False, method_options={"revisits": False}).fit(
        X, y
    )
    np.testing.assert_allclose(plain.inducing_points_, clf.inducing_points_)
    assert plain.log_evidence_ != clf.log_evidence_
    assert plain.log_evidence_ == pytest.approx(clf.log_evidence_, abs=1.0)


@pytest.mark.parametrize("method", ["mean_field", "sparse_mean_field"])
def test_the_two_predictors_of_mean_field(tmp_path, moons, method):
    X, y = moons
    fixed = {"learn_kernel": False, "learn_inducing": False}
    gaussian = quick(method, **fixed).fit(X, y)
    sampled = quick(method, method_options={"predictor": "monte_carlo"}, **fixed).fit(X, y)
    p, q = gaussian.predict_proba(X), sampled.predict_proba(X)
    assert 1e-4 < np.abs(p - q).max() < 0.1
    np.testing.assert_array_equal(sampled.predict(X), (q[:, 1] > 0.5).astype(int))
    np.testing.assert_allclose(
        sampled.predict_latent(X)[0], gaussian.predict_latent(X)[0], atol=0.15
    )
    assert np.mean(sampled.predict_latent(X)[1] > gaussian.predict_latent(X)[1]) > 0.9
    sampled.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), q)


def test_monte_carlo_means_are_those_of_the_truncated_normals(moons):
    """The average over samples of g tends to the Gaussian predictor's mean, which is at ḡ."""
    X, y = moons
    fixed = {"learn_kernel": False, "standardize": True}
    gaussian = quick("mean_field", **fixed).fit(X, y)
    sampled = quick("mean_field", method_options={"predictor": "monte_carlo"}, **fixed).fit(X, y)
    means = sampled.posterior_.means[:, 0]
    standard_error = means.std(axis=0) / np.sqrt(len(means))
    z = (means.mean(axis=0) - gaussian.posterior_.mean[0]) / standard_error
    assert np.abs(z).max() < 5.0
    assert 0.5 < z.std() < 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "ep", "inducing_points": np.zeros((2, 3))}, "has no inducing points"),
        ({"method": "laplace", "n_inducing": 5}, "has no inducing points, but n_inducing"),
        ({"method": "ivm", "inducing_points": np.zeros((2, 3))}, "chooses its points"),
        ({"method": "mean_field", "likelihood": "logit"}, "derived for likelihood='probit'"),
        ({"method": "two_stage", "likelihood": "logit"}, "derived for likelihood='probit'"),
        ({"method": "ep", "optimizer": "lbfgs"}, "which method='ep' cannot do"),
        (
            {"method": "ep", "method_options": {"steps": 3}},
            "has no option 'steps'; it has 'sweeps'",
        ),
        ({"method": "ep", "method_options": {"sweeps": "random"}}, "'sweeps' of method='ep' must"),
        ({"method": "full_kl", "method_options": {"a": 1}}, "no option 'a'; it has none"),
        ({"method": "ivm", "method_options": {"revisits": 3}}, "must be bool, got 3"),
        ({"method": "ep", "method_options": 3}, "must be a dict or None"),
        ({"method": "vb"}, "method must be one of 'auto', 'sparse_kl'"),
        ({"method": "ep", "class_weight": {0: 0.5}}, "must be 0 or at least 1, but one is 0.5"),
        (
            {"method": "mean_field", "class_weight": {0: 2.5}},
            "must be whole numbers, but one is 2.5",
        ),
    ],
)
def test_what_a_method_cannot_do_it_says(moons, arguments, message):
    with pytest.raises(ValueError, match=message):
        GPClassifier(**arguments).fit(*moons)


def test_auto_is_full_for_few_rows_and_sparse_for_many_or_when_asked(moons):
    X, y = moons
    held = {"learn_kernel": False, "learn_inducing": False, "random_state": 0}
    assert GPClassifier(**held).fit(X, y).method_ == "full_kl"
    assert GPClassifier(n_inducing=8, **held).fit(X, y).method_ == "sparse_kl"
    assert GPClassifier(inducing_points=X[:4], **held).fit(X, y).method_ == "sparse_kl"
    assert GPClassifier(optimizer="lbfgs", max_iter=2000, **held).fit(X, y).method_ == "sparse_kl"
    many = np.vstack([X + i for i in range(5)])
    assert GPClassifier(**held).fit(many, np.tile(y, 5)).method_ == "sparse_kl"


@pytest.mark.parametrize("optimizer", ["collapsed", "scg"])
def test_both_outer_optimizers_climb(moons, optimizer):
    X, y = moons
    start = quick("sparse_kl", learn_kernel=False, learn_inducing=False).fit(X, y)
    clf = quick("sparse_kl", optimizer=optimizer).fit(X, y)
    assert clf.log_evidence_ > start.log_evidence_ + 1.0
