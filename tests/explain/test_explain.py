"""Numbers about a classifier, against what they must be by construction."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.data.standardise import Standardiser
from fewknots.explain import (
    UnnamedRows,
    distance_to_points,
    effect,
    importance,
    inputs_of,
    kernel_relevance,
    strongest,
    surface,
    two_to_show,
    without_names,
)
from fewknots.explain.history import clock, settled_range
from fewknots.kernels import RBF, Constant, Linear, Matern32, Periodic, RationalQuadratic


@pytest.fixture(scope="module")
def rows(moons):
    X, y = moons
    classifier = GPClassifier(n_inducing=8, max_iter=15, tol=0.1, random_state=0).fit(X, y)
    return without_names(classifier, X, ["bent", "straight", "noise"])


def _with_kernel(kernel, X, standardize=True):
    """What relevance and distance ask of a classifier: its kernel, its units, its points."""
    ones = np.ones(len(X))
    standardiser = Standardiser.fitted(X, ones) if standardize else Standardiser.identity(3)
    kernel = kernel.prepared(np.ones(3))
    held = SimpleNamespace(points=standardiser(X[:5]))
    parts = {"kernel_": kernel, "_standardiser": standardiser, "posterior_": held}
    return UnnamedRows(SimpleNamespace(**parts), X, ("a", "b", "c"))


def test_relevance_finds_the_input_that_does_nothing(rows):
    relevance = kernel_relevance(rows)
    assert relevance.per_input
    assert strongest(relevance)[-1] == 2
    assert relevance.share.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("standardize", [True, False])
def test_relevance_is_the_priors_own_increment(moons, standardize, float64):
    """Against the kernel's covariances at the rows and one standard deviation beside them."""
    X, _ = moons
    kernel = RBF(lengthscale=[0.5, 2.0, 9.0], variance=1.7) + Linear(variance=[0.1, 0.2, 0.3])
    rows = _with_kernel(kernel, X, standardize)
    change = kernel_relevance(rows).change
    kernel = rows.classifier.kernel_
    Z = rows.classifier._standardiser(X)
    for column, step in enumerate(Z.std(axis=0)):
        moved = Z.copy()
        moved[:, column] += step
        here, there = jnp.asarray(Z), jnp.asarray(moved)
        across = jnp.diag(kernel(here, there))
        increments = kernel.diagonal(here) + kernel.diagonal(there) - 2 * across
        assert change[column] == pytest.approx(np.sqrt(np.mean(increments)), rel=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        RationalQuadratic([0.5, 2.0], columns=[2, 0]),
        Periodic(period=[3.0, 4.0, 5.0], lengthscale=1.5, variance=2.0),
        Matern32(1.5, columns=[1]) + Linear([0.3, 0.1], columns=[0, 1]),
    ],
    ids=repr,
)
def test_relevance_of_other_kernels_and_of_chosen_columns(kernel, moons, float64):
    """Against the covariances at the rows and one standard deviation beside them, as above."""
    X, _ = moons
    rows = _with_kernel(kernel, X)
    relevance = kernel_relevance(rows)
    assert relevance.per_input
    kernel, Z = rows.classifier.kernel_, rows.classifier._standardiser(X)
    here = jnp.asarray(Z)
    for d in range(3):
        there = here.at[:, d].add(Z[:, d].std())
        across = jnp.diag(kernel(here, there))
        increments = kernel.diagonal(here) + kernel.diagonal(there) - 2 * across
        want = np.sqrt(np.maximum(np.mean(np.asarray(increments)), 0.0))
        assert relevance.change[d] == pytest.approx(want, rel=1e-6, abs=1e-7)


def test_relevance_of_products_and_of_kernels_without_ard(moons):
    X, _ = moons
    product = RBF(lengthscale=[0.5, 5.0, 50.0]) * Matern32(lengthscale=100.0)
    assert strongest(kernel_relevance(_with_kernel(product, X))) == [0, 1, 2]
    alike = kernel_relevance(_with_kernel(RBF(ard=False), X))
    assert not alike.per_input
    assert np.ptp(alike.change) < 1e-12
    nothing = kernel_relevance(_with_kernel(Constant(), X))
    assert np.all(nothing.share == 0)


def test_effect_is_the_mean_over_rows_inside_its_band(rows):
    found = effect(rows, 0)
    assert not found.separate
    assert np.all((found.low <= found.probability) & (found.probability <= found.high))
    everywhere = rows.X.copy()
    everywhere[:, 0] = found.values[7]
    mean = rows.classifier.predict_proba(everywhere)[:, 1].mean()
    assert found.probability[7] == pytest.approx(mean, rel=1e-9)
    assert found.span > effect(rows, 2).span


def test_effect_of_a_few_values_has_only_those(rows):
    X = rows.X.copy()
    X[:, 2] = X[:, 2] > -1.0
    found = effect(rows._replace(X=X), 2)
    assert found.separate
    assert found.values.tolist() == [0.0, 1.0]


def test_work_is_bounded(rows):
    asked = []

    class Counting:
        def __getattr__(self, name):
            return getattr(rows.classifier, name)

        def predict_proba(self, X):
            asked.append(len(X))
            return rows.classifier.predict_proba(X)

        def predict_log_proba(self, X):
            asked.append(len(X))
            return rows.classifier.predict_log_proba(X)

    many = rows._replace(classifier=Counting(), X=np.tile(rows.X, (1000, 1)))
    effect(many, 0)
    importance(many, np.zeros(len(many.X), int), inputs_of(many))
    surface(many, (0, 1))
    assert 20_000 < sum(asked) < 60_000


def test_surface_holds_the_other_inputs_at_their_medians(rows):
    found = surface(rows, (1, 0), grid=5)
    row = np.median(rows.X, axis=0)
    row[1], row[0] = found.across[3], found.up[2]
    assert found.probability[2, 3] == pytest.approx(rows.classifier.predict_proba([row])[0, 1])
    assert found.points.shape == (8, 2)
    with pytest.raises(ValueError, match="two different inputs"):
        surface(rows, (1, 1))


def test_two_inputs_to_show_have_more_than_two_values(rows):
    X = rows.X.copy()
    X[:, 0] = X[:, 0] > 0
    assert two_to_show(rows._replace(X=X), [0, 1, 2]) == (1, 2)
    assert two_to_show(rows._replace(X=X[:, :2]), [0, 1]) == (0, 1)
    assert two_to_show(rows, [0]) is None


def test_distance_is_in_lengthscales(moons):
    X, _ = moons
    classifier = _with_kernel(RBF(lengthscale=[1.0, 2.0, 4.0]), X, standardize=False).classifier
    points = classifier.posterior_.points
    assert np.allclose(distance_to_points(classifier, points), 0.0)
    far = points[:1] + np.array([0.0, 0.0, 400.0])
    among_all = np.sqrt((((far - points) / [1.0, 2.0, 4.0]) ** 2).sum(axis=1)).min()
    assert distance_to_points(classifier, far) == pytest.approx(among_all)
    straight = _with_kernel(Linear(), X).classifier
    scaled = (X - X[0]) / X.std(axis=0)
    assert np.all(distance_to_points(straight, X) <= np.linalg.norm(scaled, axis=1) + 1e-9)


def test_names(rows, moons):
    assert rows.column("noise") == 2
    with pytest.raises(ValueError, match="no input 'other'; the inputs are bent"):
        rows.column("other")
    with pytest.raises(ValueError, match="no input 3"):
        rows.column(3)
    with pytest.raises(ValueError, match="1 feature names for 3 columns"):
        without_names(rows.classifier, moons[0], ["one"])


def test_history():
    assert clock({"seconds": np.array([0.5]), "iteration": np.array([1])})[1] == "seconds"
    assert clock({"bound": np.zeros(3)})[0].tolist() == [1.0, 2.0, 3.0]
    bound = np.concatenate([[-1e6], np.linspace(-50, -41, 19)])
    low, high = settled_range(bound)
    assert -51 < low < -49
    assert -41 < high < -40
    low, high = settled_range(np.array([3.0]))
    assert low < 3.0 < high
