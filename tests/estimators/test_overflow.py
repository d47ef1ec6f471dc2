"""Inputs of any size: predictions are finite numbers, or an error names the row or the column."""

import warnings

import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots import DataError, GPClassifier, GPRegressor
from fewknots.kernels.stationary import squared_distance
from fewknots.numerics.elementary import not_below_zero

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
SIDE = X[:, 0] > 0
NAMES = ("rbf", "matern12", "linear", "constant")
KERNELS = [*(f"{a} + {b}" for a in NAMES for b in NAMES if a <= b)]
KERNELS += [*(f"{a} * {b}" for a in NAMES for b in NAMES if a <= b), "linear * linear * linear"]
OUT_OF_REACH = r"row \d+ of X is so far from the rows of the fit that the kernel overflows"
scales = st.integers(-300, 300).map(lambda power: 10.0**power)


def finite(clf, rows):
    """Whether every prediction is made of finite numbers; an error must name the row."""
    outputs = ("predict_latent", "predict_log_proba", "predict_proba", "decision_function")
    for name in outputs:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = getattr(clf, name)(rows)
            except ValueError as error:
                if "so far from the rows of the fit" in str(error):
                    continue
                return "too large to compute with" in str(error)
        if not np.all(np.isfinite(found)):
            return False
    return True


@pytest.fixture(scope="module", params=KERNELS)
def fitted(request):
    settings = {"learn_kernel": False, "kernel": request.param}
    return [
        GPClassifier(method="full_kl", **settings).fit(X, SIDE),
        GPClassifier(method="full_kl", likelihood="logit", **settings).fit(X, SIDE),
        GPClassifier(method="full_kl", dtype="float32", standardize=False, **settings).fit(X, SIDE),
    ]


@given(scale=scales)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_predictions_are_finite_or_refused(fitted, scale):
    for clf in fitted:
        assert finite(clf, X * scale), clf


@given(scale=scales, other=scales)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kernel", ["linear * linear", "rbf * linear", "matern12 + linear"])
def test_fits_at_any_scale_end_well(kernel, standardize, scale, other):
    rows = X * [scale, other]
    clf = GPClassifier(kernel, method="full_kl", standardize=standardize, learn_kernel=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that never change
        try:
            clf.fit(rows, SIDE)
        except ValueError:  # too large, or an error that says which number cannot be had
            return
    assert finite(clf, rows)
    assert finite(clf, 1e80 * rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["full_kl", "sparse_kl", "local"])
def test_the_row_is_named(method, dtype):
    clf = GPClassifier("linear * linear", method=method, dtype=dtype, learn_kernel=False)
    clf.fit(X, SIDE)
    rows = X.copy()
    rows[7] *= 1e90
    for name in ("predict_latent", "predict_log_proba", "predict_proba", "predict"):
        with pytest.raises(DataError, match="row 7 of X is so far") as error:
            getattr(clf, name)(rows)
        assert ("dtype='float64'" in str(error.value)) == (dtype == "float32")


def test_certainty_is_not_made_of_an_overflow():
    """k(x, x) and what the rows explain of it both overflow: their difference is not zero."""
    clf = GPClassifier("linear * linear", method="full_kl", learn_kernel=False).fit(X, SIDE)
    with pytest.raises(DataError, match=OUT_OF_REACH):
        clf.predict_latent(1e99 * X)
    mean, variance = clf.predict_latent(1e70 * X)
    assert np.all(variance > 0)
    assert np.all(np.isfinite(mean))


def test_a_stream_names_its_place(tmp_path):
    clf = GPClassifier("linear * linear", method="full_kl", learn_kernel=False).fit(X, SIDE)
    rows = X.copy()
    rows[11] *= 1e90
    np.save(tmp_path / "x.npy", rows)
    with pytest.raises(DataError, match=r"x\.npy, row 11 is so far"):
        clf.predict_stream(tmp_path / "x.npy", tmp_path / "p.parquet")
    assert not (tmp_path / "p.parquet").exists()
    np.save(tmp_path / "x.npy", X)
    clf.predict_stream(tmp_path / "x.npy", tmp_path / "p.parquet")
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 30


def test_dask_names_partition_and_row():
    da = pytest.importorskip("dask.array")
    clf = GPClassifier("linear * linear", method="full_kl", learn_kernel=False).fit(X, SIDE)
    rows = X.copy()
    rows[17] *= 1e90
    lazy = clf.predict_proba(da.from_array(rows, chunks=(10, 2)))
    with pytest.raises(DataError, match="partition 1: row 7 of X is so far"):
        lazy.compute(scheduler="synchronous")


def test_a_regressor_in_large_units():
    reg = GPRegressor("linear * linear", learn_kernel=False).fit(X, 1e99 * X[:, 0])
    assert np.all(np.isfinite(reg.predict(X)))
    with pytest.raises(DataError, match=OUT_OF_REACH):
        reg.predict(1e60 * X, return_std=True)


@pytest.mark.parametrize("n_inputs", [2, 40])
def test_kernels_of_distance_forget_far_rows(n_inputs):
    """Also where squared distances are differences of squares that overflow."""
    wide = RNG.normal(size=(30, n_inputs))
    for dtype in ("float64", "float32"):
        fixed = {"method": "full_kl", "learn_kernel": False}
        clf = GPClassifier("rbf", dtype=dtype, **fixed).fit(wide, SIDE)
        mean, variance = clf.predict_latent(wide * (1e30 if dtype == "float32" else 1e99))
        np.testing.assert_allclose(mean, 0.0)
        np.testing.assert_allclose(variance, 1.0)


def test_the_pieces(float64):
    values = jnp.array([-1.0, 0.0, 2.0, jnp.nan, -jnp.inf, jnp.inf])
    found = np.asarray(not_below_zero(values))
    np.testing.assert_array_equal(found, [0.0, 0.0, 2.0, np.nan, -np.inf, np.inf])
    far = np.full((1, 40), 1e200)
    assert np.asarray(squared_distance(far, np.ones((3, 40)), np.ones(()))).tolist() == [
        [np.inf] * 3
    ]
