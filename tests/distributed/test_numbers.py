"""Numbers in Dask collections: the fit in memory, however the rows are cut; predictions; errors."""

import dask.array as da
import numpy as np
import pytest

from distributed import Client
from fewknots import GPRegressor
from fewknots.distributed import fitting

from ..compiling import optimised
from .conftest import cut
from .test_agreement import assert_same_bound

N = 400
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, 2)) * [1.0, 3.0] + [0.0, 7.0]
F = np.sin(2.0 * X[:, 0]) + 0.3 * (X[:, 1] - 7.0)
TARGETS = {
    "gaussian": 300.0 + 40.0 * (F + 0.2 * RNG.normal(size=N)),
    "student_t": 300.0 + 40.0 * (F + 0.1 * RNG.standard_t(2.2, size=N)),
    "poisson": RNG.poisson(3.0 * np.exp(0.5 * F)).astype(np.float64),
    "heteroscedastic": F + np.exp(X[:, 0] - 1.5) * RNG.normal(size=N),
}
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
ROUNDS = {"kernel": "rbf", "n_inducing": 8, "optimizer": "rounds", "random_state": 0, "max_iter": 4}
SMALL = {"kernel": "rbf", "warp": None, "n_inducing": 8, "random_state": 0, "tol": 1e-2}
pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


@pytest.fixture(scope="module")
def threads():
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


def weights_like(lazy):
    return da.from_array(WEIGHTS, chunks=lazy.chunks)


def test_partitions_and_workers_change_nothing(cluster):
    """Bit for bit, for likelihoods with parameters that are learned from all rows."""
    with optimised(), cluster(2):
        for name in ("student_t", "heteroscedastic"):
            y, settings = TARGETS[name], ROUNDS | {"likelihood": name}
            alone = GPRegressor(**settings).fit(X, y, WEIGHTS)
            assert alone.n_iter_ == 4
            for partitions in (1, 5):
                lazy = cut(X, y, partitions)
                other = GPRegressor(**settings).fit(*lazy, weights_like(lazy[1]))
                assert_same_bound(other, alone)
                np.testing.assert_array_equal(other.predict(X), alone.predict(X))
                assert repr(other.likelihood_) == repr(alone.likelihood_)


def test_rounds_end_near_the_full_batch(threads):
    y = TARGETS["gaussian"]
    far = GPRegressor(**ROUNDS | {"max_iter": 60}).fit(*cut(X, y, 3))
    full = GPRegressor("rbf", method="titsias", n_inducing=8, random_state=0).fit(X, y)
    assert far.method_ == "sparse_kl"
    assert far.log_evidence_ == pytest.approx(full.log_evidence_, abs=2.0)
    assert far.noise_ == pytest.approx(full.noise_, rel=0.05)


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_a_small_table_is_fitted_in_this_process(threads, likelihood, capsys):
    y = TARGETS[likelihood]
    alone = GPRegressor(likelihood=likelihood, **SMALL).fit(X, y, WEIGHTS)
    lazy = cut(X, y, 3)
    far = GPRegressor(likelihood=likelihood, verbose=1, **SMALL).fit(*lazy, weights_like(lazy[1]))
    assert far.log_evidence_ == alone.log_evidence_
    assert far.method_ == alone.method_
    np.testing.assert_array_equal(far.predict(X), alone.predict(X))
    assert "400 rows are few for a cluster" in capsys.readouterr().err


def test_predictions_are_collections(threads):
    reg = GPRegressor(**SMALL).fit(X, TARGETS["gaussian"])
    far = da.from_array(X, chunks=(150, 2))
    mean, std = reg.predict(far, return_std=True)
    assert isinstance(mean, da.Array)
    np.testing.assert_allclose(reg.predict(far).compute(), reg.predict(X), rtol=1e-12)
    want = reg.predict(X, return_std=True)
    np.testing.assert_allclose([mean.compute(), std.compute()], want, rtol=1e-10)
    found = reg.predict_interval(far, 0.8)
    assert found.chunks == ((150, 150, 100), (2,))
    np.testing.assert_allclose(found.compute(), reg.predict_interval(X, 0.8), rtol=1e-10)
    with pytest.raises(ValueError, match="return_cov asks for all pairs of rows"):
        reg.predict(far, return_cov=True)
    with pytest.raises(ValueError, match="exposure is for rows in memory, and X is a Dask"):
        reg.predict(far, exposure=np.ones(N))


def test_data_frames(threads):
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"time": X[:, 0], "distance": X[:, 1], "delay": TARGETS["gaussian"]})
    frame.index = frame.index * 2
    rows = dd.from_pandas(frame, npartitions=3)
    reg = GPRegressor(**SMALL).fit(rows[["time", "distance"]], rows["delay"])
    assert list(reg.feature_names_in_) == ["time", "distance"]
    inputs = frame[["time", "distance"]]
    mean, std = reg.predict(rows[["time", "distance"]], return_std=True)
    np.testing.assert_array_equal(mean.compute().index, frame.index)
    np.testing.assert_allclose(std.compute(), reg.predict(inputs, return_std=True)[1], rtol=1e-10)
    ends = reg.predict_quantiles(rows[["time", "distance"]], [0.1, 0.9]).compute()
    assert list(ends.columns) == [0.1, 0.9]
    np.testing.assert_allclose(ends, reg.predict_quantiles(inputs, [0.1, 0.9]), rtol=1e-10)


@pytest.mark.parametrize(
    ("likelihood", "bad", "says"),
    [
        ("gaussian", np.nan, "partition 1, row 2: y: it is nan"),
        (
            "poisson",
            2.5,
            "partition 1, row 0: y: counted from there, row 2 of y is 2.5, which is no",
        ),
    ],
)
def test_a_bad_target_is_named(threads, likelihood, bad, says):
    y = TARGETS[likelihood].copy()
    y[202] = bad
    with pytest.raises(ValueError, match=says):
        GPRegressor(likelihood=likelihood, **SMALL).fit(*cut(X, y, 2))


def test_what_needs_all_rows_in_one_place_is_refused(threads, monkeypatch):
    lazy = cut(X, TARGETS["poisson"], 2)
    with pytest.raises(ValueError, match="method='local' keeps all rows of its fit in one place"):
        GPRegressor(method="local").fit(*lazy)
    with pytest.raises(ValueError, match=r"trained in rounds.*got method='exact'"):
        GPRegressor(method="exact").fit(*lazy)
    with pytest.raises(ValueError, match="exposure is for rows in memory and streams"):
        GPRegressor(likelihood="poisson").fit(*lazy, exposure=np.ones(N))
    monkeypatch.setattr(fitting, "MOST_GATHERED", X.size - 1)
    reg = GPRegressor(**SMALL, max_time=1e-3).fit(*lazy)
    assert reg.method_ == "sparse_kl"
