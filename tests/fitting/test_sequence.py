"""The one way through a fit, without an estimator: settings and rows in, a plain model out."""

from dataclasses import FrozenInstanceError

import jax
import numpy as np
import pytest

from fewknots import GPClassifier, GPRegressor, prediction
from fewknots.fitting.job import FitContext, FittedModel
from fewknots.fitting.plan import choose_plan
from fewknots.fitting.sequence import fit
from fewknots.fitting.settings import CLASSIFICATION, REGRESSION, FitSettings
from fewknots.inference.method import Capabilities
from fewknots.stopping import Interruption
from fewknots.training.row_sources import RowsInMemory

from ..contests import small_contests

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 2))
CODES = (np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=150) > 0).astype(int)
QUICK = {"n_inducing": 8, "random_state": 0, "max_iter": 20, "tol": 0.1}


def rows(codes=CODES):
    return RowsInMemory(X, codes, np.ones(len(X)), classes=np.array([0, 1]))


def settings(**arguments):
    return GPClassifier(**QUICK | arguments)._settings()


def fitted(arguments, warm=None):
    return fit(settings(**arguments), rows(), FitContext(None, Interruption()), warm)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"method": "laplace", "n_inducing": "auto"},
        {"optimizer": "natural_gradient"},
        {"kernel": "rbf", "optimizer": "rounds", "max_iter": 3, "warp": None},
        {"method": "local", "n_inducing": "auto", "n_neighbors": 10},
    ],
)
def test_an_estimator_adds_nothing_to_the_sequence(arguments):
    model = fitted(arguments)
    clf = GPClassifier(**QUICK | arguments).fit(X, CODES)
    assert isinstance(model, FittedModel)
    assert model.method == clf.method_
    assert model.evidence == clf.log_evidence_
    both = prediction.log_probabilities(model.likelihood, model.posterior, model.standardiser, X)
    np.testing.assert_array_equal(np.column_stack(both), clf.predict_log_proba(X))


def test_the_kernel_may_start_where_neighbours_have_ended():
    known = fitted({"method": "local", "n_inducing": "auto", "n_neighbors": 10}).kernel
    given = settings(learn_kernel=False, n_inducing=5)
    found = fit(given, rows(), FitContext(None, Interruption()), kernel=known)
    for one, other in zip(jax.tree.leaves(found.kernel), jax.tree.leaves(known), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(found.posterior.points) == 5


def test_settings_and_models_do_not_change():
    model = fitted({"learn_kernel": False})
    with pytest.raises(FrozenInstanceError):
        model.evidence = 0.0
    with pytest.raises(FrozenInstanceError):
        settings().tol = 1.0


def test_settings_hold_an_estimators_arguments():
    clf = GPClassifier(**QUICK)
    assert clf._settings().arguments == clf.get_params(deep=False)
    subclass = type("Own", (GPClassifier,), {})(**QUICK)
    assert isinstance(subclass._settings(), FitSettings)


def test_a_warm_start_is_checked_wherever_the_rows_are():
    """A local fit holds all rows, which must not become inducing points."""
    known = {"method": "local", "n_neighbors": 10, "max_iter": 2, "random_state": 0}
    clf = GPClassifier(**known).fit(X, CODES)
    clf.set_params(method="sparse_kl", n_neighbors="auto", warm_start=True)
    for again in (lambda: clf.fit(X, CODES), lambda: clf.fit_stream(X, CODES)):
        with pytest.raises(ValueError, match="continues a fit by method='local'"):
            again()
    for width, message in ((X[:, :1], "to 2 features, but X has 1"),):
        with pytest.raises(ValueError, match=message):
            clf.fit(width, CODES)
        with pytest.raises(ValueError, match=message):
            clf.fit_stream(width, CODES)


def test_callbacks_see_estimators_while_methods_compete():
    seen = []

    def look(now):
        seen.append(now.model())
        return True

    clf = GPClassifier(random_state=0, callback=look)
    with small_contests(100):
        clf.fit(X, np.where(CODES, "yes", "no"))
    assert type(seen[0]) is GPClassifier
    assert seen[0].get_params()["method"] == "auto"
    assert seen[0].method_ == "local"
    assert set(seen[0].predict(X)) <= {"no", "yes"}


# --- what methods say of themselves ---------------------------------------------------------------


@pytest.mark.parametrize(("name", "method"), [*CLASSIFICATION.items(), *REGRESSION.items()])
def test_methods_declare_what_they_can_do(name, method):
    assert issubclass(method, Capabilities)
    assert method.name == name
    assert method().weights in ("any", "copies", "whole")
    assert method.sparse != method.stores_rows  # held by inducing points, or by rows
    assert not (method.chooses_rows and method.sparse)
    assert method.has_q <= method.sparse


def test_what_is_declared_is_what_is_allowed():
    for name, method in CLASSIFICATION.items():
        asked = settings(method=name, n_inducing="auto")
        for where, allowed in (("stream", method.streams), ("cluster", method.sums_rows)):
            if allowed:
                assert choose_plan(asked, 500, where).plan is not None
            else:
                with pytest.raises(ValueError, match=name):
                    choose_plan(asked, 500, where)


@pytest.mark.parametrize(
    ("arguments", "method", "optimizer"),
    [
        ({}, "sparse_kl", "natural_gradient"),  # which competes with neighbours
        ({"method": "titsias"}, "titsias", None),  # solves for q(u), however many rows there are
        ({"method": "svi"}, "svi", None),
        ({"method": "sparse_kl"}, "sparse_kl", "natural_gradient"),
        ({"optimizer": "adam"}, "sparse_kl", "adam"),
    ],
)
def test_how_many_numbers_are_learned(arguments, method, optimizer):
    settings = FitSettings.of("numbers", GPRegressor(**arguments).get_params(deep=False))
    plan = choose_plan(settings, 30_000)
    assert plan.method.name == method
    assert (None if plan.plan is None else plan.plan.optimizer) == optimizer


def test_what_is_solved_for_is_not_stepped_to():
    arguments = GPRegressor(method="titsias", optimizer="adam").get_params(deep=False)
    with pytest.raises(ValueError, match="method='titsias' cannot do"):
        choose_plan(FitSettings.of("numbers", arguments), 500)
