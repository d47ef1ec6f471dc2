import jax
import numpy as np
import pytest
from sklearn.base import clone

from fewknots.kernels import RBF, Constant, Linear, Matern32


def test_parameters_by_name():
    kernel = Matern32(lengthscale=2.0) + Linear()
    assert kernel.get_params()["k1__lengthscale"] == 2.0
    kernel.set_params(k1__lengthscale=3.0, k2__variance=0.5)
    assert kernel.k1.lengthscale == 3.0
    assert kernel.k2.variance == 0.5


@pytest.mark.parametrize("name", ["lengthscales", "k3__variance", "k1__ells", "lengthscale__x"])
def test_unknown_parameters_are_refused(name):
    with pytest.raises(ValueError, match="has no parameter"):
        (RBF() + Linear()).set_params(**{name: 1.0})


def test_clone_copies_and_keeps_arguments_untouched():
    scales = np.array([1.0, 2.0])
    kernel = RBF(lengthscale=scales) * Constant(2.0)
    copy = clone(kernel, safe=False)
    assert kernel.k1.lengthscale is scales
    assert copy.k1 is not kernel.k1
    np.testing.assert_array_equal(copy.k1.lengthscale, scales)


def test_prepared_fills_in_and_spreads():
    spread = np.array([1.0, 10.0])
    ready = (RBF() + Linear()).prepared(spread)
    np.testing.assert_allclose(ready.k1.lengthscale, np.sqrt(2) * spread)
    np.testing.assert_allclose(ready.k2.variance, 0.5 / spread**2)
    one = RBF().prepared(spread, ard=False)
    np.testing.assert_allclose(one.lengthscale, np.sqrt(101.0))
    assert RBF(ard=False).prepared(spread).lengthscale.shape == ()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(lengthscale=-1.0), "RBF.lengthscale must be positive and finite, got -1.0"),
        (RBF(variance=0.0), "RBF.variance must be positive"),
        (RBF(lengthscale=[1.0, 2.0, 3.0]), "RBF.lengthscale must have one value or 2, one per inp"),
        (RBF(lengthscale="long"), "RBF.lengthscale must be a number or an array, got 'long'"),
        (Constant([1.0, 2.0]), r"Constant.variance must have one value, got an array of shape \(2"),
        (RBF(lengthscale=np.nan), "RBF.lengthscale must be positive and finite"),
    ],
)
def test_bad_parameters_say_which(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.prepared(np.ones(2))


def test_kernels_are_pytrees_of_their_parameters():
    kernel = RBF(2.0, 3.0) + Constant(4.0)
    assert jax.tree.leaves(kernel) == [2.0, 3.0, 4.0]
    doubled = jax.tree.map(lambda p: 2 * p, kernel)
    assert doubled.k1.lengthscale == 4.0


def test_repr_shows_what_was_set():
    assert (
        repr(RBF(2.0) * (Linear() + 3)) == "RBF(lengthscale=2) * (Linear() + Constant(variance=3))"
    )
