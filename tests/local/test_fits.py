"""GPClassifier(method="local"), as a user meets it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier

from fewknots import GPClassifier, load

RNG = np.random.default_rng(2)
X = RNG.normal(size=(700, 3)) * [1.0, 5.0, 1.0]
Y = np.where(np.sin(3.0 * X[:, 0]) + 0.1 * X[:, 1] + 0.3 * RNG.normal(size=700) > 0, "on", "off")
TRAIN, TEST = slice(0, 500), slice(500, 700)


def local(**arguments):
    return GPClassifier(
        **{"kernel": "rbf", "method": "local", "n_neighbors": 12}
        | {"max_iter": 30, "random_state": 0}
        | arguments
    )


def nlp(clf):
    log_p = np.log(clf.predict_proba(X[TEST]))
    return -np.mean(log_p[np.arange(200), (Y[TEST] == "on").astype(int)])


@pytest.fixture(scope="module")
def fitted():
    return local(validation_fraction=0.1).fit(X[TRAIN], Y[TRAIN])


def test_it_learns(fitted):
    assert nlp(fitted) < 0.4
    assert np.mean(fitted.predict(X[TEST]) == Y[TEST]) > 0.85
    assert fitted.method_ == "local"
    assert not fitted.evidence_is_bound_
    assert fitted.kernel_.lengthscale[2] > 3.0 * fitted.kernel_.lengthscale[0]  # irrelevant
    history = fitted.history_
    assert history["bound"][-1] > history["bound"][0]
    assert np.all(history["held_out_nlp"] < 0.6)
    assert len(fitted.posterior_.points) == 450
    # the sum of what each row's probability is given the others
    assert -fitted.log_evidence_ / 450 == pytest.approx(nlp(fitted), abs=0.1)


def test_save_load_pickle_and_blocks_agree_bit_for_bit(fitted, tmp_path):
    expected = fitted.predict_proba(X)
    fitted.save(tmp_path / "local.fewknots")
    again = load(tmp_path / "local.fewknots")
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert again.posterior_.settings() == fitted.posterior_.settings()
    assert not hasattr(again, "inducing_points_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), expected)
    alone = np.concatenate([fitted.predict_proba(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(alone, expected[:5], atol=1e-6)


def test_an_interrupted_run_goes_on_as_if_nothing_had_been(tmp_path):
    whole = local(tol=0.0).fit(X[TRAIN], Y[TRAIN])
    kept = {"checkpoint": tmp_path, "tol": 0.0}
    local(callback=lambda now: now.iteration >= 20, **kept).fit(X[TRAIN], Y[TRAIN])
    resumed = local(resume=True, **kept).fit(X[TRAIN], Y[TRAIN])
    assert resumed.n_iter_ == whole.n_iter_ == 30
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


def test_new_rows_join_the_store(tmp_path):
    clf = local().partial_fit(X[:300], Y[:300], classes=["on", "off"])
    before, kernel = nlp(clf), clf.kernel_
    clf.save(tmp_path / "local.fewknots")
    clf = load(tmp_path / "local.fewknots").partial_fit(X[300:500], Y[300:500])
    assert len(clf.posterior_.points) == 500
    np.testing.assert_array_equal(clf.kernel_.lengthscale, kernel.lengthscale)
    assert nlp(clf) < before
    assert clf.predict_proba(X[TEST]).shape == (200, 2)


def test_a_warm_start_begins_with_what_was_learned(fitted):
    again = clone(fitted).set_params(warm_start=True, max_iter=1, validation_fraction=None)
    again.fit(X[TRAIN], Y[TRAIN])
    cold = nlp(again)
    again.set_params(max_iter=30).fit(X[TRAIN], Y[TRAIN])
    assert nlp(again) < cold
    with pytest.raises(ValueError, match="continues a fit by method='local'"):
        again.set_params(method="sparse_kl", n_neighbors="auto").fit(X[TRAIN], Y[TRAIN])


def test_class_weights_move_the_probabilities():
    fixed = {"learn_kernel": False}
    plain = local(**fixed).fit(X[TRAIN], Y[TRAIN])
    heavy = local(class_weight={"on": 4.0}, **fixed).fit(X[TRAIN], Y[TRAIN])
    assert np.mean(heavy.predict_proba(X)[:, 1]) > np.mean(plain.predict_proba(X)[:, 1]) + 0.02


def test_far_from_all_rows_the_shares_of_the_classes():
    rare = np.concatenate([np.arange(350), 350 + np.flatnonzero(Y[350:] == "off")])
    clf = local(max_iter=1).fit(X[rare], Y[rare])
    share = np.mean(Y[rare] == "on")
    assert clf.predict_proba([[1e6, 1e6, 1e6]])[0, 1] == pytest.approx(share, abs=0.05)


def test_awkward_rows_are_no_trouble():
    """Copies, a constant column, fewer rows than neighbours, many columns, one class around."""
    with pytest.warns(match="identical"):
        clf = local(max_iter=3).fit(np.zeros((40, 1)), np.arange(40) % 2)
    np.testing.assert_allclose(clf.predict_proba([[0.0]]), 0.5, atol=0.05)
    few = local(n_neighbors=100, max_iter=3).fit(X[:8], Y[:8])
    assert np.all(np.isfinite(few.predict_proba(X)))
    wide = RNG.normal(size=(90, 25))
    clf = local(max_iter=3).fit(wide, wide[:, 0] > 0)
    assert np.all(np.isfinite(clf.predict_proba(wide)))


def test_rows_from_a_stream_are_kept(tmp_path):
    held = np.column_stack([X[TRAIN], Y[TRAIN] == "on"])
    np.save(tmp_path / "rows.npy", held)
    streamed = local(max_iter=5).fit_stream(tmp_path / "rows.npy", target=3)
    at_once = local(max_iter=5).fit(X[TRAIN], Y[TRAIN] == "on")
    np.testing.assert_allclose(
        streamed.predict_proba(X[TEST]), at_once.predict_proba(X[TEST]), atol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1"),
        ({"method": "ep"}, "n_neighbors is for method='local', but the method is 'ep'"),
        ({"n_inducing": 5}, "has no inducing points"),
        ({"optimizer": "lbfgs"}, "method='local' is trained by optimizer='adam'"),
        ({"method_options": {"inference": "vb"}}, "'inference' of method='local' must be"),
        (
            {"method_options": {"inference": "ep"}, "class_weight": {"on": 0.5}},
            "must be 0 or at least 1",
        ),
    ],
)
def test_what_it_cannot_do_it_says(arguments, message):
    with pytest.raises(ValueError, match=message):
        local(**arguments).fit(X[TRAIN], Y[TRAIN])


def test_a_global_fit_can_lie_under_it():
    """docs/local.md: the trend by inducing points, as one more input."""
    trend = GPClassifier(method="sparse_kl", n_inducing=12, random_state=0, tol=1e-3)
    over = local(kernel="matern32 + linear")
    stacked = StackingClassifier([("trend", trend)], over, cv=2, passthrough=True)
    stacked.fit(X[TRAIN], Y[TRAIN])
    assert stacked.final_estimator_.n_features_in_ == 4
    assert nlp(stacked) < 0.4
    probabilities = stacked.predict_proba(X[TEST])
    again = pickle.loads(pickle.dumps(stacked)).predict_proba(X[TEST])
    np.testing.assert_array_equal(again, probabilities)
