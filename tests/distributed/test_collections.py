"""Dask collections in, Dask collections out; in threads of this process, which start quickly."""

import subprocess
import sys
from copy import copy

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from distributed import Client, futures_of, wait
from fewknots import GPClassifier, load
from fewknots.distributed.fitting import _grouped, pieces
from fewknots.exceptions import DataError
from fewknots.kernels import RBF, Bounded, Constant, Fixed, LogNormal

from ..waiting import HANGS
from .conftest import SETTINGS, cut, rows, three_classes

pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


@pytest.fixture(scope="module")
def threads():
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


@pytest.fixture(scope="module")
def frame():
    X, y = rows()
    return pd.DataFrame({"time": X[:, 0], "distance": X[:, 1], "late": y})


@pytest.fixture(scope="module")
def fitted(threads, frame):
    ddf = dd.from_pandas(frame, npartitions=3)
    return GPClassifier(**SETTINGS).fit(ddf[["time", "distance"]], ddf["late"])


def test_a_dataframe_gives_what_the_array_in_memory_gives(fitted, in_memory, frame):
    assert fitted.log_evidence_ == pytest.approx(in_memory.log_evidence_, rel=1e-8)
    assert list(fitted.feature_names_in_) == ["time", "distance"]


@pytest.mark.computes
def test_three_classes_give_what_they_give_in_memory(threads):
    X, y = rows(120)
    y = three_classes(X, y)
    settings = SETTINGS | {"max_iter": 2, "optimizer": "rounds", "learn_inducing": False}
    alone = GPClassifier(**settings).fit(X, y)
    clf = GPClassifier(**settings).fit(*cut(X, y, 3))
    np.testing.assert_array_equal(clf.classes_, ["in time", "late", "never"])
    np.testing.assert_allclose(clf.predict_proba(X), alone.predict_proba(X), atol=1e-8)
    lazy = clf.predict_proba(da.from_array(X, chunks=(50, 2)))
    assert lazy.shape == (120, 3)
    np.testing.assert_allclose(lazy.compute(), clf.predict_proba(X), rtol=1e-12)


def test_predictions_for_a_dataframe_stay_lazy_and_keep_its_index(fitted, frame):
    odd = frame[["time", "distance"]].set_index(np.arange(len(frame)) * 2)
    ddf = dd.from_pandas(odd, npartitions=3)
    p, labels = fitted.predict_proba(ddf), fitted.predict(ddf)
    assert isinstance(p, dd.DataFrame)
    assert isinstance(labels, dd.Series)
    np.testing.assert_array_equal(p.compute().to_numpy(), fitted.predict_proba(odd))
    np.testing.assert_array_equal(labels.compute().to_numpy(), fitted.predict(odd))
    assert list(p.columns) == ["in time", "late"]
    np.testing.assert_array_equal(p.compute().index, odd.index)


def test_predictions_for_an_array_stay_lazy(threads, in_memory):
    X, _ = rows()
    lazy = da.from_array(X, chunks=(200, 1))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        found = getattr(in_memory, method)(lazy)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found.compute(), getattr(in_memory, method)(X))


def test_weights_and_class_weights_count_as_in_memory(threads):
    X, y = rows(400)
    weights = np.random.default_rng(1).integers(0, 3, 400).astype(float)
    settings = SETTINGS | {"class_weight": "balanced", "max_iter": 3}
    here = GPClassifier(**settings).fit(X, y, weights)
    lazy = cut(X, y, 3)
    there = GPClassifier(**settings).fit(*lazy, da.from_array(weights, chunks=lazy[1].chunks))
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, rel=1e-8)


def test_a_random_part_of_the_rows_each_round(threads, tmp_path):
    """However the table is cut the parts are the same; a saved model is like any other."""
    X, y = rows()
    settings = {"n_inducing": 8, "optimizer": "natural_gradient", "batch_size": 200}
    settings |= {"max_iter": 40, "random_state": 0}
    one, other = (GPClassifier(**settings).fit(*cut(X, y, parts)) for parts in (2, 5))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-8)
    assert one.score(X, y) > 0.8
    one.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), one.predict(X))


@pytest.mark.parametrize("optimizer", ["rounds", "natural_gradient"])
def test_constraints_of_the_kernel_are_kept_to(threads, optimizer):
    """Fixed, at a bound that the best is beyond, and held by a narrow prior."""
    kernel = RBF(LogNormal(4.0, 1e-3, start=4.5), Fixed(1.5)) + Constant(Bounded(5.0, 9.0))
    settings = {"n_inducing": 8, "ard": False, "max_iter": 40, "random_state": 0}
    lazy = cut(*rows(), 2)
    found = GPClassifier(kernel, optimizer=optimizer, **settings).fit(*lazy).kernel_
    assert found.k1.lengthscale == pytest.approx(4.0, rel=0.01)
    assert found.k1.variance == 1.5
    assert found.k2.variance == 5.0


def test_partitions_that_workers_hold_already_stay_with_them(cluster, in_memory):
    X, y = cut(*rows(), 6)
    with cluster(2) as client:
        X = client.persist(X)
        wait(X)
        cut_up = pieces(X, y, None)
        where = client.who_has(futures_of(X))
        for numbers in _grouped(client, cut_up, X):
            assert len({where[cut_up.keys[i]] for i in numbers}) == 1
        fitted = GPClassifier(**SETTINGS).fit(X, y)
    assert fitted.log_evidence_ == pytest.approx(in_memory.log_evidence_, rel=1e-8)


def test_labels_that_are_not_lazy_are_refused_with_advice(threads):
    X, y = rows(100)
    with pytest.raises(TypeError, match=r"dask\.array\.from_array\(y, chunks=X\.chunks\[0\]\)"):
        GPClassifier().fit(cut(X, y, 2)[0], y)


def test_tables_cut_differently_are_refused(threads):
    X, y = rows(100)
    with pytest.raises(DataError, match="y has 4 partitions, but X has 2"):
        GPClassifier().fit(cut(X, y, 2)[0], cut(X, y, 4)[1])


def test_other_methods_are_refused(threads):
    with pytest.raises(ValueError, match="trained in rounds"):
        GPClassifier(method="laplace").fit(*cut(*rows(100), 2))


def test_text_names_its_partition(threads, frame):
    ddf = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(DataError, match=r"partition \d: .*column 'late'"):
        GPClassifier().fit(ddf, ddf["late"])


def test_nothing_of_dask_is_imported_without_need():
    look = "import sys, fewknots.estimators; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", look], check=True, timeout=HANGS)


def test_an_interrupted_run_on_parts_of_the_rows_is_taken_up_bit_for_bit(threads, tmp_path):
    settings = {"n_inducing": 8, "optimizer": "natural_gradient", "batch_size": 200}
    settings |= {"max_iter": 30, "random_state": 0}
    X, y = cut(*rows(), 3)

    def crash(now):
        if now.iteration == 17:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        GPClassifier(**settings, checkpoint=tmp_path, callback=crash).fit(X, y)
    assert list(tmp_path.glob("step-*.checkpoint"))
    resumed = GPClassifier(**settings, checkpoint=tmp_path, resume=True).fit(X, y)
    whole = GPClassifier(**settings).fit(X, y)
    assert resumed.log_evidence_ == whole.log_evidence_
    np.testing.assert_array_equal(resumed.history_["bound"], whole.history_["bound"])
    np.testing.assert_array_equal(resumed.predict_proba(rows()[0]), whole.predict_proba(rows()[0]))


def test_warm_start_goes_on_from_the_fitted_model(threads, in_memory):
    clf = copy(in_memory).set_params(warm_start=True, max_iter=8)
    before = in_memory.log_evidence_
    for _ in range(2):
        clf.fit(*cut(*rows(), 2))
        assert clf.history_["bound"][0] > before - 1e-6 * abs(before)
        assert clf.log_evidence_ > before
        before = clf.log_evidence_


def test_partial_fit_is_refused_with_advice(threads, in_memory):
    lazy = cut(*rows(), 2)
    for clf in (GPClassifier(), copy(in_memory)):
        with pytest.raises(TypeError, match=r"use fit, with warm_start=True.*compute\(\)"):
            clf.partial_fit(*lazy, classes=["in time", "late"])
