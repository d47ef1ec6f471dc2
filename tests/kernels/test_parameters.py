import jax
import numpy as np
import pytest
from sklearn.base import clone

from fewknots.kernels import (
    RBF,
    Constant,
    Fixed,
    Kernel,
    Linear,
    Matern32,
    Periodic,
    Polynomial,
    as_kernel,
    column_choice,
    scale_of_inputs,
    setting,
)


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
    assert RBF(variance=None).prepared(spread).variance == 1.0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(lengthscale=-1.0), "RBF.lengthscale must be positive and finite, got -1.0"),
        (RBF(variance=0.0), "RBF.variance must be positive"),
        (RBF(lengthscale=[1.0, 2.0, 3.0]), "RBF.lengthscale must have one value or 2, one per inp"),
        (RBF(lengthscale="long"), "RBF.lengthscale must be a number or an array, got 'long'"),
        (Constant([1.0, 2.0]), r"Constant.variance must have one value, got an array of shape \(2"),
        (RBF(lengthscale=np.nan), "RBF.lengthscale must be positive and finite"),
        (RBF(columns=[2]), "RBF.columns chooses column 2, but X has columns 0 to 1"),
        (RBF(columns=[-1]), "RBF.columns chooses column -1"),
        (
            RBF(columns="age"),
            r"RBF.columns must be a list of column names or .* got 'age'",
        ),
        (RBF(columns=[]), "RBF.columns must be a list"),
        (RBF(columns=[0, 0]), r"RBF.columns names a column twice: \[0, 0\]"),
        (RBF(columns=[True, False]), "RBF.columns must hold column names or numbers, got True"),
        (RBF(columns=[0.0]), "RBF.columns must hold column names or numbers, got 0.0"),
        (Linear(columns=["age"]), "Linear.columns names the column 'age', but X has no column nam"),
        (RBF([1.0, 2.0], columns=[1]), "RBF.lengthscale must have one value or 1"),
        (
            RBF([1.0, Fixed(2.0)]),
            r"RBF.lengthscale has Fixed\(value=2.0\) for input 1 alone, .* Multiply kernels",
        ),
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


def with_degree(degree):
    kernel = Polynomial()
    kernel.degree = degree  # not by the constructor, whose annotation is checked while testing
    return kernel


@pytest.mark.parametrize("degree", [0, -1, 1.5, True, "two"])
def test_a_setting_is_of_its_type(degree):
    with pytest.raises(ValueError, match=r"Polynomial.degree must be a whole number of at least 1"):
        with_degree(degree).prepared(np.ones(2))
    assert with_degree(np.int64(3)).prepared(np.ones(2)).degree == 3


def test_settings_and_columns_are_structure():
    kernel = Polynomial(2.0, offset=3.0, degree=4, columns=(1,)) + RBF(5.0, 6.0, ard=False)
    assert jax.tree.leaves(kernel) == [2.0, 3.0, 5.0, 6.0]
    doubled = jax.tree.map(lambda p: 2 * p, kernel)
    assert (doubled.k1.degree, doubled.k1.columns, doubled.k2.ard) == (4, (1,), False)
    assert jax.tree.structure(kernel) != jax.tree.structure(kernel.set_params(k1__degree=5))


def test_fields_must_be_declared():
    with pytest.raises(TypeError, match=r"Mine.degree = 2 is not declared. Write setting\(2\)"):

        class Mine(Kernel):
            degree: int = 2

    with pytest.raises(TypeError, match=r"Ours\.places chooses columns, so it must be called"):

        class Ours(Kernel):
            places: object = column_choice()

    class Good(Kernel):
        variance: object = 1.0
        name: str = setting("good")

    ready = Good().prepared(np.ones(2))
    assert (float(ready.variance), ready.name) == (1.0, "good")
    with pytest.raises(ValueError, match=r"Good\.variance must be positive"):
        Good(variance=-1.0).prepared(np.ones(2))


def test_columns_by_name():
    kernel = RBF(columns=["income", "age"]) * 2.0 + Linear(columns=[2])
    numbered = as_kernel(kernel, ["age", "city", "income"])
    assert [part.columns for part in numbered.parts()] == [(2, 0), None, (2,)]
    assert kernel.k1.k1.columns == ["income", "age"]  # untouched
    message = "RBF.columns names the unknown column 'income'; the columns of X are age, city"
    with pytest.raises(ValueError, match=message):
        as_kernel(kernel, ["age", "city"])
    assert clone(kernel, safe=False).k1.k1.columns == ["income", "age"]
    assert repr(RBF(columns=["age"])) == "RBF(columns=['age'])"


def test_prepared_looks_at_chosen_columns_only():
    spread = np.array([1.0, 10.0, 100.0])
    ready = (RBF(columns=[2, 1]) + Linear(columns=[1]) + Periodic(columns=[0])).prepared(spread)
    rbf, linear, periodic = ready.parts()
    np.testing.assert_allclose(rbf.lengthscale, np.sqrt(2) * spread[[2, 1]])
    np.testing.assert_allclose(linear.variance, [0.01])
    np.testing.assert_allclose(periodic.period, [2.0])


def test_the_scale_of_inputs_is_that_of_the_first_part_that_looks_at_them():
    rbf, rest = RBF(np.array([2.0, 3.0]), columns=(3, 0)), Matern32(np.array(5.0), columns=(0, 1))

    def scale(kernel):
        return scale_of_inputs(kernel, 4, elsewhere=np.inf)

    np.testing.assert_array_equal(scale(rbf), [3.0, np.inf, np.inf, 2.0])
    np.testing.assert_array_equal(scale(Linear() + rbf * rest), [3.0, 5.0, np.inf, 2.0])
    np.testing.assert_array_equal(scale(rest + rbf), [5.0, 5.0, np.inf, 2.0])
    np.testing.assert_array_equal(scale(rbf + RBF(np.array(7.0))), [3.0, 7.0, 7.0, 2.0])
    assert scale(RBF(np.array(7.0)) + rbf) == 7.0
    assert scale(Linear()) is None
    assert scale(RBF(np.ones(1, np.float32), columns=(1,))).dtype == np.float32
