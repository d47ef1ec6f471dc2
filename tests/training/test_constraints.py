"""Fixed, bounded and with a prior, in every way of training."""

from functools import partial

import jax
import numpy as np
import pytest

import fewknots
from fewknots import GPClassifier, GPRegressor
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF, Bounded, Constant, Fixed, LogNormal
from fewknots.likelihoods import Bernoulli
from fewknots.training import full_batch, joint, steps, summation
from fewknots.training.held_rows import Shape
from fewknots.training.parameters import Learned, Model, constraints_of, encode, limits, log_prior

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 2))
Y = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=120) > 0, 1, -1)
SPARSE = {"method": "sparse_kl", "n_inducing": 8}
TRAINERS = {
    "full": {"method": "full_kl"},
    "collapsed": SPARSE,
    "scg": SPARSE | {"optimizer": "scg"},
    "joint": SPARSE | {"optimizer": "lbfgs", "max_iter": 300},
    "natural_gradient": SPARSE | {"optimizer": "natural_gradient", "max_iter": 150},
    "adam": SPARSE | {"optimizer": "adam", "max_iter": 150},
    "rounds": SPARSE | {"optimizer": "rounds", "max_iter": 15},
    "local": {"method": "local", "n_neighbors": 20, "max_iter": 60},
    "float32": SPARSE | {"dtype": "float32"},
}
each_trainer = pytest.mark.parametrize("trainer", TRAINERS)
pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


def fitted(kernel, trainer="collapsed", **more):
    settings = TRAINERS[trainer] | {"ard": False, "random_state": 0, "warp": None} | more
    return GPClassifier(kernel=kernel, **settings).fit(X, Y)


@each_trainer
def test_fixed_does_not_move(trainer):
    found = fitted(RBF(Fixed(0.7), Fixed(1.9)) + Constant(0.5), trainer).kernel_
    dtype = np.float32 if trainer == "float32" else np.float64
    if trainer not in ("natural_gradient", "adam"):  # whose precision is chosen by the rows
        assert found.k1.lengthscale.dtype == dtype
    assert found.k1.lengthscale == found.k1.lengthscale.dtype.type(0.7)
    assert found.k1.variance == found.k1.variance.dtype.type(1.9)
    assert found.k2.variance != 0.5


@each_trainer
def test_bounded_ends_at_the_bound_if_the_best_is_beyond(trainer):
    free = float(fitted(RBF(), trainer).kernel_.lengthscale)
    assert 0.3 < free < 3.0
    above = fitted(RBF(Bounded(3.0, 20.0, start=5.0)), trainer).kernel_.lengthscale
    below = fitted(RBF(Bounded(0.01, 0.3, start=0.2)), trainer).kernel_.lengthscale
    assert above == above.dtype.type(3.0)
    assert below == below.dtype.type(0.3)


@each_trainer
def test_a_narrow_prior_is_obeyed(trainer):
    found = fitted(RBF(LogNormal(median=4.0, spread=1e-3, start=4.5)), trainer)
    np.testing.assert_allclose(found.kernel_.lengthscale, 4.0, rtol=0.01)


def test_a_range_around_the_best_and_a_wide_prior_change_nothing():
    plain = fitted(RBF(1.0), tol=1e-9)
    for constraint in (Bounded(0.01, 100.0, start=1.0), LogNormal(20.0, 1e4, start=1.0)):
        other = fitted(RBF(constraint), tol=1e-9)
        np.testing.assert_allclose(other.log_evidence_, plain.log_evidence_, rtol=1e-9)
        np.testing.assert_allclose(other.kernel_.lengthscale, plain.kernel_.lengthscale, rtol=1e-3)


@pytest.mark.parametrize("trainer", ["full", "collapsed", "joint", "natural_gradient", "rounds"])
def test_the_evidence_is_without_the_prior(trainer):
    found = fitted(RBF(LogNormal(median=40.0, spread=1.0, start=2.0), Fixed(1.0)), trainer)
    log_prior = -0.5 * (np.log(found.kernel_.lengthscale / 40.0)) ** 2
    assert log_prior < -1.0
    points = {} if trainer == "full" else {"inducing_points": found.inducing_points_}
    method = "full" if trainer == "full" else "collapsed"
    same = fitted(found.kernel_, method, learn_kernel=False, learn_inducing=False, **points)
    # by minibatches and jointly q may still be a little behind
    atol = 0.3 if trainer in ("joint", "natural_gradient") else 1e-3
    np.testing.assert_allclose(found.log_evidence_, same.log_evidence_, rtol=0, atol=atol)
    np.testing.assert_allclose(found.history_["bound"][-1], found.log_evidence_, atol=0.6)


def test_where_the_evidence_and_the_prior_balance():
    """At the end the evidence's gradient is minus that of the prior, (x - log median)/spread²."""
    found = fitted(RBF(LogNormal(median=4.0, spread=0.3)), "full", tol=1e-10)
    off = np.log(found.kernel_.lengthscale / 4.0)
    assert abs(off) > 0.05
    slope = found.evidence_gradient_.kernel
    np.testing.assert_allclose(slope.lengthscale, off / 0.3**2, rtol=1e-3)
    assert abs(slope.variance) < 1e-2


def test_regression_too():
    target = np.sin(2.0 * X[:, 0])
    for method in ("exact", "titsias"):
        kernel = RBF(Fixed(0.5), Bounded(3.0, 4.0), ard=False)
        kernel = GPRegressor(kernel=kernel, method=method).fit(X, target).kernel_
        assert kernel.lengthscale == 0.5
        assert 3.0 <= kernel.variance <= 4.0


def test_one_for_each_input():
    found = fitted(RBF(Fixed([0.5, 2.0])) + RBF(Bounded(0.5, 0.6)), ard=True).kernel_
    np.testing.assert_array_equal(found.k1.lengthscale, [0.5, 2.0])
    assert found.k2.lengthscale.shape == (2,)
    assert np.all((found.k2.lengthscale >= 0.5) & (found.k2.lengthscale <= 0.6))


@pytest.mark.parametrize("trainer", ["collapsed", "natural_gradient", "local"])
def test_a_warm_start_keeps_to_what_is_asked_now(trainer):
    model = fitted(RBF(1.0), trainer, warm_start=True)
    assert model.kernel_.lengthscale < 3.0
    model.set_params(kernel=RBF(Bounded(3.0, 4.0), Fixed(2.0))).fit(X, Y)
    assert 3.0 <= model.kernel_.lengthscale <= 4.0
    assert model.kernel_.variance == 2.0


def test_saved_and_loaded(tmp_path):
    kernel = RBF(Bounded(0.1, 10.0), LogNormal(1.0, 0.5)) + Constant(Fixed(2.0))
    model = fitted(kernel)
    model.save(tmp_path / "model")
    again = fewknots.load(tmp_path / "model")
    assert repr(again.kernel) == repr(kernel)
    assert again.kernel.k1.get_params() == kernel.k1.get_params()
    assert repr(again.kernel_) == repr(model.kernel_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


# --- gradients ------------------------------------------------------------------------------------

ROWS = Rows(X, Y.astype(float), RNG.uniform(0.5, 2.0, len(X)))
GIVEN = RBF(LogNormal(0.4, 0.5, start=0.9), Fixed(1.5)) + Constant(Bounded(0.1, 2.0, start=0.5))


def coordinates():
    kernel = GIVEN.prepared(np.ones(2), ard=True)
    model = Model(kernel, X[:5] + 0.1, Bernoulli("probit"))
    return encode(model, Learned(True, True, False, constraints_of(GIVEN, kernel)))


def assert_gradient(objective, free, gradient):
    """Central differences along every coordinate of the kernel."""
    leaves, form = jax.tree.flatten(free["kernel"])
    slopes = jax.tree.leaves(gradient["kernel"])
    for i, leaf in enumerate(leaves):
        for j in np.ndindex(np.shape(leaf)):

            def at(h, i=i, j=j):
                moved = [np.array(part) for part in leaves]
                moved[i][j] += h
                return float(objective(free | {"kernel": jax.tree.unflatten(form, moved)}))

            numeric = (at(1e-5) - at(-1e-5)) / 2e-5
            np.testing.assert_allclose(np.asarray(slopes[i])[j], numeric, rtol=1e-5, atol=1e-5)


def test_gradient_of_the_prior(float64):
    free, frozen = coordinates()
    _, slope = log_prior(free["kernel"], frozen["constraints"])
    assert_gradient(
        lambda free: log_prior(free["kernel"], frozen["constraints"])[0], free, {"kernel": slope}
    )


def test_gradient_in_full_batch(float64):
    free, frozen = coordinates()
    method = SparseKL()
    budget = Budget(np.asarray(0.0), 200)
    rows = jax.tree.map(jax.numpy.asarray, ROWS)
    evaluate = partial(full_batch._evaluate, method)
    here = evaluate(free, frozen, rows, method.start(ROWS), np.asarray(1e-6), budget)
    assert here.log_prior < 0.0

    def objective(free):
        return evaluate(free, frozen, rows, here.found.memory, np.asarray(1e-6), budget).objective

    assert_gradient(objective, free, here.gradient)
    assert here.gradient["kernel"].k1.variance == 0.0


def test_gradient_jointly(float64):
    free, frozen = coordinates()
    free = free | {"q": {"mean": RNG.normal(size=(1, 5)), "lower": np.eye(5)[None]}}
    rows = jax.tree.map(jax.numpy.asarray, ROWS)

    def at(free):
        return joint._evaluate("standard", free, frozen, rows, np.asarray(1e-6))

    assert_gradient(lambda free: at(free).objective, free, at(free).gradient)


def test_gradient_in_rounds(float64):
    free, frozen = coordinates()
    base = steps.prior_base(5, np.dtype(np.float64))
    q = steps.Naturals(2.0 * np.eye(5)[None], RNG.normal(size=(1, 5)))
    rows = summation.MemorySums(ROWS, np.dtype(np.float64), Shape.for_rows(len(X)))

    def at(free):
        model, gaussian = summation.point_at(free, frozen, q)
        point = jax.tree.map(np.asarray, summation.Point(model, gaussian, 1e-6))
        return summation.weigh(free, frozen, base, q, rows(point), 1e-6)

    here = at(free)
    assert_gradient(lambda free: at(free).bound, free, here.gradient)
    assert here.evidence > here.bound


def test_limits_are_the_narrower_ones(float64):
    free, frozen = coordinates()
    low, high = limits(free, frozen)
    np.testing.assert_allclose(np.exp(low["kernel"].k2.variance), 0.1)
    np.testing.assert_allclose(np.exp(high["kernel"].k2.variance), 2.0)
    np.testing.assert_allclose(np.exp(low["kernel"].k1.lengthscale), 0.9e-5)
    assert np.all(np.isinf(high["Z"]))
