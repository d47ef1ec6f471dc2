"""warp="auto": which inputs are warped, from where, and that every way of training learns it."""

import numpy as np
import pytest

from fewknots import GPClassifier, GPRegressor, load
from fewknots.data.standardise import Standardiser
from fewknots.explain import kernel_relevance, without_names
from fewknots.fitting.warps import starting_powers
from fewknots.kernels import RBF, Linear, Matern32, Periodic, Warp
from fewknots.kernels.signed_power import unwarped, warped

RNG = np.random.default_rng(3)
N = 240
LATENT = RNG.normal(size=(N, 3))
Y = np.where(np.sin(2.0 * LATENT[:, 0]) + LATENT[:, 1] + 0.3 * RNG.normal(size=N) > 0, "a", "b")
SKEWED = np.exp(1.5 * LATENT) * [1.0, 1e6, 1e-3]
SPARSE = {"kernel": "rbf", "method": "sparse_kl", "n_inducing": 12, "random_state": 0}
TRAINERS = {
    "full": {"kernel": "rbf", "method": "full_kl"},
    "collapsed": SPARSE | {"max_iter": 60},
    "scg": SPARSE | {"optimizer": "scg", "max_iter": 30},
    "joint": SPARSE | {"optimizer": "lbfgs", "max_iter": 60},
    "natural_gradient": SPARSE | {"optimizer": "natural_gradient", "max_iter": 100},
    "adam": SPARSE | {"optimizer": "adam", "max_iter": 100},
    "rounds": SPARSE | {"optimizer": "rounds", "max_iter": 8},
    "local": {
        **{"kernel": "rbf", "method": "local", "n_neighbors": 20},
        **{"max_iter": 40, "random_state": 0},
    },
}
pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


def fitted(X=SKEWED, y=Y, **arguments):
    return GPClassifier(**(SPARSE | {"max_iter": 40} | arguments)).fit(X, y)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_learns_the_warp_and_gains_by_it(trainer):
    arguments = TRAINERS[trainer]
    plain, warps = (GPClassifier(warp=w, **arguments).fit(SKEWED, Y) for w in (None, "auto"))
    assert isinstance(plain.kernel_, RBF)
    kernel = warps.kernel_
    assert isinstance(kernel, Warp)
    assert isinstance(kernel.kernel, RBF)
    # a logarithm above the median, from where it was learned on
    assert np.all((kernel.above > 0.1) & (kernel.above < 0.7))
    start = np.exp(starting_powers(warps._standardiser(SKEWED), np.ones(N))[1] - 1.0)
    assert np.all(np.abs(np.log(kernel.above / start)) > 1e-4)
    assert warps.log_evidence_ > plain.log_evidence_ + 5.0
    np.testing.assert_array_equal(warps._standardiser.mean, np.median(SKEWED, axis=0))


def test_without_warps_it_is_mean_and_deviation():
    plain = fitted(warp=None)
    np.testing.assert_allclose(plain._standardiser.mean, SKEWED.mean(axis=0))
    np.testing.assert_allclose(plain._standardiser.scale, SKEWED.std(axis=0))
    for arguments in ({"standardize": False}, {"learn_kernel": False}):
        X = LATENT
        one, other = (fitted(X, warp=warp, **arguments) for warp in (None, "auto"))
        assert isinstance(other.kernel_, RBF)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_what_has_few_values_stays_as_it_is():
    codes = RNG.integers(0, 2, N), RNG.integers(0, 9, N), np.full(N, 4.0)
    X = np.column_stack([codes[0], SKEWED[:, 0], codes[1]])
    found = fitted(X, max_iter=1)
    assert found.kernel_.columns == (1,)
    for column in (0, 2):
        assert found._standardiser.mean[column] == pytest.approx(X[:, column].mean())
        assert found._standardiser.scale[column] == pytest.approx(X[:, column].std())
    few = np.column_stack([*codes[:2], codes[1] % 5]).astype(float)
    one, other = (fitted(few, warp=warp, max_iter=5) for warp in (None, "auto"))
    assert isinstance(other.kernel_, RBF)
    np.testing.assert_array_equal(one.predict_proba(few), other.predict_proba(few))
    X[:, 2] = codes[2]
    with pytest.warns(UserWarning, match="column 2 of X never changes"):
        assert fitted(X, max_iter=1).kernel_.columns == (1,)


def test_a_period_is_one_in_the_users_units():
    kernel = Periodic(period=1.0, columns=[2]) + Linear()
    assert fitted(kernel=kernel, max_iter=1).kernel_.columns == (0, 1)
    named = fitted(kernel=Periodic(columns=[0]) + RBF(columns=[1, 2]), max_iter=1)
    assert named.kernel_.columns == (1, 2)
    assert isinstance(fitted(kernel=Periodic(), max_iter=1).kernel_, Periodic)
    # who warps by hand has it so
    own = fitted(kernel=Warp(RBF(), columns=[0]) + Linear(), max_iter=1)
    assert isinstance(own.kernel_.k1, Warp)
    assert own._standardiser.mean[0] == pytest.approx(SKEWED[:, 0].mean())


def test_only_auto_and_none():
    with pytest.raises(ValueError, match="warp must be 'auto' or None, got 'log'"):
        fitted(warp="log")


# --- the start ------------------------------------------------------------------------------------


def test_the_start_undoes_a_map_of_the_family():
    normal = RNG.normal(size=(4000, 1))
    for power in (-0.5, 0.0, 0.5, 1.0, 1.5):
        slope = np.exp(power - 1.0)
        # what the map w makes normal is made by its inverse; half-sided, as a map may end
        T = unwarped(np.clip(normal, -0.6, 0.6) if power < 0 else normal, slope, slope)
        below, above = starting_powers(T, np.ones(4000))
        found = np.corrcoef(
            warped(T, np.exp(below - 1.0), np.exp(above - 1.0))[:, 0], normal[:, 0]
        )[0, 1]
        plain = np.corrcoef(T[:, 0], normal[:, 0])[0, 1]
        assert found >= plain - 1e-3
        if power >= 0.0:  # short sides stay as they are
            assert below == above == min(power, 1.0)


def test_the_start_of_a_side_without_rows_is_no_change():
    counts = np.concatenate([np.zeros(300), np.exp(RNG.normal(size=100))])[:, None]
    below, above = starting_powers(counts, np.ones(400))
    assert below == 1.0
    assert above < 0.5


# --- the same model -------------------------------------------------------------------------------


def test_columns_turned_around_shifted_and_stretched_give_the_same_model():
    turned = -3.0 * SKEWED + [5.0, 1e6, -1.0]
    one, other = (GPClassifier(method="full_kl").fit(X, Y) for X in (SKEWED, turned))
    np.testing.assert_allclose(other.log_evidence_, one.log_evidence_, rtol=1e-5)
    np.testing.assert_allclose(other.kernel_.below, one.kernel_.above, rtol=0.01)
    np.testing.assert_allclose(other.predict_proba(turned), one.predict_proba(SKEWED), atol=2e-3)


def test_columns_mapped_within_the_family_are_fitted_alike():
    """The kernel may see them through the same map: the evidence is nearly the same."""
    T = Standardiser.fitted(LATENT, np.ones(N))(LATENT)
    evidences = []
    for slope in (1.0, 0.6, np.exp(-1.0)):
        found = GPClassifier(method="full_kl").fit(unwarped(T, slope, slope) * 30.0 - 4.0, Y)
        evidences.append(found.log_evidence_)
        plain = GPClassifier(method="full_kl", warp=None).fit(unwarped(T, slope, slope), Y)
    assert np.ptp(evidences) < 2.0
    assert plain.log_evidence_ < min(evidences) - 4.0


def test_a_weight_is_a_number_of_copies():
    weights = RNG.integers(0, 3, N)
    copies = np.repeat(np.arange(N), weights)
    arguments = {"method": "full_kl", "max_iter": 10}
    one = GPClassifier(**arguments).fit(SKEWED, Y, sample_weight=weights)
    other = GPClassifier(**arguments).fit(SKEWED[copies], Y[copies])
    np.testing.assert_array_equal(one._standardiser.mean, other._standardiser.mean)
    np.testing.assert_array_equal(one._standardiser.scale, other._standardiser.scale)
    np.testing.assert_allclose(one.kernel_.above, other.kernel_.above, rtol=1e-6)
    np.testing.assert_allclose(one.log_evidence_, other.log_evidence_, rtol=1e-8)


def test_a_stream_gives_the_units_of_a_table():
    X, y = np.tile(SKEWED, (3, 1)), np.tile(Y, 3)
    arguments = {"optimizer": "natural_gradient", "max_iter": 20}
    table = fitted(X, y, **arguments)
    stream = GPClassifier(**(SPARSE | arguments)).fit_stream(
        lambda: iter([(X[:100], y[:100]), (X[100:], y[100:])])
    )
    np.testing.assert_array_equal(stream._standardiser.mean, table._standardiser.mean)
    np.testing.assert_array_equal(stream._standardiser.scale, table._standardiser.scale)
    # the rows of a stream come in other batches
    np.testing.assert_allclose(stream.kernel_.above, table.kernel_.above, rtol=0.2)
    np.testing.assert_allclose(stream.log_evidence_, table.log_evidence_, rtol=0.1)


# --- afterwards -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trainer", ["collapsed", "local"])
def test_saved_and_loaded_it_is_the_same(trainer, tmp_path):
    clf = GPClassifier(**TRAINERS[trainer] | {"max_iter": 5}).fit(SKEWED, Y)
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert repr(again.kernel_) == repr(clf.kernel_)
    assert again.warp == "auto"
    np.testing.assert_array_equal(again.predict_proba(SKEWED), clf.predict_proba(SKEWED))


def test_a_warm_start_keeps_the_units_and_the_warps():
    clf = fitted(warm_start=True)
    units, above = clf._standardiser, clf.kernel_.above
    clf.set_params(max_iter=3).fit(SKEWED[:200] * 1.01, Y[:200])
    assert clf._standardiser is units
    assert clf.kernel_.columns is None
    assert np.all(np.abs(np.log(clf.kernel_.above / above)) < 0.5)


def test_inducing_points_are_in_the_users_units_among_the_rows():
    clf = fitted(learn_inducing=False, n_inducing=20)
    points = clf.inducing_points_
    assert np.all((points >= SKEWED.min(axis=0)) & (points <= SKEWED.max(axis=0)))
    # chosen where the rows are once they are warped, not where their tails are
    assert np.all(np.abs(np.median(np.log(points / SKEWED.mean(axis=0)), axis=0) + 1.1) < 0.6)


@pytest.mark.parametrize("init", ["kmeans", "greedy", "random"])
def test_without_rows_stored_there_are_none(init):
    options = {"store_rows": False, "inducing_init": init, "learn_inducing": False}
    assert fitted(max_iter=3, **options).stored_rows_ == 0


def test_the_gradient_for_inducing_points_is_in_the_users_units():
    clf = fitted(learn_inducing=False, max_iter=5, tol=1e-9)
    slope = clf.evidence_gradient_.inducing_points
    T = clf._standardiser(clf.inducing_points_)
    fixed = {"learn_kernel": False, "learn_inducing": False, "standardize": False}
    step = np.zeros_like(T)
    step[2, 1] = 1e-4

    def evidence(points):
        again = GPClassifier(clf.kernel_, inducing_points=points, method="sparse_kl", **fixed)
        return again.fit(clf._standardiser(SKEWED), Y).log_evidence_

    difference = (evidence(T + step) - evidence(T - step)) / 2e-4 / clf._standardiser.scale[1]
    assert slope[2, 1] == pytest.approx(difference, rel=1e-3, abs=1e-9)


def test_relevance_is_that_of_warped_inputs():
    """Along a skewed input the function changes by little over a standard deviation of it."""
    clf = fitted(LATENT)
    same = fitted(np.exp(1.5 * LATENT))
    shares = [
        kernel_relevance(without_names(one, X)).share
        for one, X in ((clf, LATENT), (same, np.exp(1.5 * LATENT)))
    ]
    np.testing.assert_allclose(shares[1], shares[0], atol=0.1)


# whether a trial step in float32 needs more jitter is a matter of rounding
@pytest.mark.filterwarnings("ignore:the inducing points' covariance needed a jitter")
def test_regression_and_extreme_values():
    """1e30 in a column is no trouble, 1e12 in float32 neither."""
    X = SKEWED.copy()
    target = LATENT[:, 0] + np.sin(LATENT[:, 1])
    for large, arguments in (
        (1e12, {"method": "titsias", "dtype": "float32"}),
        (1e30, {"method": "exact"}),
    ):
        X[5, 0], X[6, 1] = large, -large
        found = GPRegressor(Matern32(), max_iter=60, **arguments).fit(X, target)
        error = np.delete(found.predict(X) - target, [5, 6])
        assert np.sqrt(np.mean(error**2)) < 0.4
        assert np.all(np.isfinite(found.predict(X * 1e3)))
    for arguments in (SPARSE, TRAINERS["local"]):
        proba = GPClassifier(dtype="float32", **arguments | {"max_iter": 20}).fit(X, Y)
        assert np.all(np.isfinite(proba.predict_proba(X)))
