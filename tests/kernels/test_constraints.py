"""What a user writes: markers in a kernel's arguments, and what becomes of them without a fit."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from fewknots.exceptions import ModelFileError
from fewknots.files.header_values import (
    check_fitted,
    decode_arguments,
    encode_arguments,
    known_classes,
)
from fewknots.kernels import RBF, Bounded, Constant, Fixed, Linear, LogNormal, Periodic
from fewknots.training.parameters import constraints_of

SPREAD = np.array([1.0, 2.0])
EACH = [Fixed(2.0), Fixed([1.0, 3.0]), Bounded(0.1, 10.0, start=2.0), LogNormal(1.0, 0.5)]


@pytest.mark.parametrize(
    ("constraint", "start"),
    [
        (Fixed(2.0), [2.0, 2.0]),
        (Fixed([1.0, 3.0]), [1.0, 3.0]),
        (Fixed(np.array([4.0])), [4.0, 4.0]),
        (Bounded(1.5, 10.0, start=7.0), [7.0, 7.0]),
        (Bounded(0.1, 2.5), [2.0**0.5, 2.5]),  # the kernel's own start, √2 times the spread
        (LogNormal(median=3.0, spread=1.0), [3.0, 3.0]),
        (LogNormal(median=3.0, spread=1.0, start=0.5), [0.5, 0.5]),
    ],
)
def test_a_prepared_kernel_holds_numbers(constraint, start):
    ready = RBF(constraint).prepared(SPREAD)
    np.testing.assert_allclose(ready.lengthscale, start)
    assert ready.variance == 1.0


def test_constraints_are_kernels_of_the_same_form():
    kernel = RBF(Bounded(0.5, 4.0), Fixed(2.0)) + Linear(LogNormal(3.0, 0.5), ard=False)
    found = constraints_of(kernel, kernel.prepared(SPREAD))
    np.testing.assert_array_equal(found.low.k1.lengthscale, [0.5, 0.5])
    np.testing.assert_array_equal(found.high.k1.lengthscale, [4.0, 4.0])
    assert (found.low.k1.variance, found.high.k1.variance) == (2.0, 2.0)
    assert (found.low.k2.variance, found.high.k2.variance) == (0.0, np.inf)
    assert (found.median.k2.variance, found.precision.k2.variance) == (3.0, 4.0)
    np.testing.assert_array_equal(found.precision.k1.lengthscale, [0.0, 0.0])
    assert constraints_of(RBF(2.0), RBF(2.0).prepared(SPREAD)) is None


def test_another_kernel_has_other_constraints():
    with pytest.raises(ValueError, match="Set warm_start=False"):
        constraints_of(RBF(Fixed(2.0)), Linear().prepared(SPREAD))


@pytest.mark.parametrize("constraint", EACH)
def test_copies_are_equal(constraint):
    kernel = RBF(constraint) * Constant(Fixed(2))
    for again in (clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert again.k1 is not kernel.k1
        assert again.get_params()["k1__lengthscale"] == constraint
        assert repr(again) == repr(kernel)
    kernel.set_params(k1__lengthscale=1.0, k2__variance=constraint)
    assert kernel.k2.variance is constraint


def test_shown_as_written():
    kernel = Periodic(period=LogNormal(1.0, 0.1), lengthscale=Fixed(2.0))
    assert repr(kernel) == (
        "Periodic(period=LogNormal(median=1.0, spread=0.1, start=None), "
        "lengthscale=Fixed(value=2.0))"
    )


@pytest.mark.parametrize("constraint", EACH)
def test_written_to_files_as_they_are(constraint):
    known = known_classes()
    written = encode_arguments({"kernel": RBF(constraint) + Linear()})
    assert decode_arguments(written, known)["kernel"].k1.lengthscale == constraint


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ({"class": "Free", "fields": {}}, "has no constraint 'Free'"),
        ({"class": "Bounded", "fields": {"low": 2.0, "high": 1.0}}, "must be less than"),
        ({"class": "Fixed", "fields": {"value": [[1.0], 2.0]}}, r"got \[1.0\]"),
        ({"class": "Fixed", "fields": {"value": 1.0, "price": 1.0}}, "price"),
    ],
)
def test_bad_ones_in_files_are_refused(constraint, message):
    kernel = {"class": "RBF", "fields": {"lengthscale": {"constraint": constraint}}}
    with pytest.raises((ModelFileError, ValueError, TypeError), match=message):
        decode_arguments({"kernel": {"kernel": kernel}}, known_classes())


def test_a_fitted_kernel_has_numbers():
    with pytest.raises(ModelFileError, match="not a number"):
        check_fitted(RBF(Fixed(2.0), 1.0), 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Fixed(-1.0), "Fixed.value must be a positive and finite number, got -1.0"),
        (lambda: Fixed([]), "Fixed.value must be a number or one for each input"),
        (lambda: Fixed(np.ones((1, 2))), r"Fixed.value must be a positive .* got \[1.0, 1.0\]"),
        (lambda: Fixed("2"), "Fixed.value must be a positive"),
        (lambda: Fixed(None), "Fixed.value must be a positive"),
        (lambda: Bounded(2.0, 1.0), "Bounded.low must be less than Bounded.high"),
        (lambda: Bounded(2.0, 2.0), r"write Fixed\(value\)"),
        (lambda: Bounded(0.0, 2.0), "Bounded.low must be a positive"),
        (lambda: Bounded(1.0, np.inf), "Bounded.high must be a positive and finite"),
        (lambda: Bounded(1.0, 2.0, start=3.0), "Bounded.start must lie between 1.0 and 2.0"),
        (lambda: LogNormal(-1.0, 1.0), "LogNormal.median must be a positive"),
        (lambda: LogNormal(1.0, 0.0), "LogNormal.spread must be a positive"),
        (lambda: LogNormal(1.0, 1e-9), "LogNormal.spread must be at least"),
        (lambda: LogNormal(1.0, 1.0, start=0.0), "LogNormal.start must be a positive"),
        (lambda: RBF(Fixed([1.0, 2.0, 3.0])).prepared(SPREAD), "RBF.lengthscale must have one"),
        (lambda: RBF(variance=Fixed([1.0, 2.0])).prepared(SPREAD), "RBF.variance must have one"),
    ],
)
def test_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
