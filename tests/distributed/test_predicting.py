"""A model on its way to the workers: once each, whatever the number of partitions."""

from copy import copy
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier

from .conftest import cut, rows

pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")
PARTITIONS = 20


@pytest.fixture(scope="module")
def local():
    settings = {"method": "local", "n_neighbors": 16, "max_iter": 3, "random_state": 0}
    return GPClassifier("matern32", **settings).fit(*rows(2000))


@pytest.fixture(scope="module")
def two_workers(cluster):
    # What Dask moves by the clock, to balance work or to free memory, is not what is counted here.
    still = {
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with dask.config.set(still), cluster(2) as client:
        client.run(counting())
        yield client


def counting():
    """Makes a worker count the models that reach it and the indices it builds."""

    def count():
        from fewknots.local import posterior

        build = posterior.Metric.within_reach
        posterior.counted = {"arrived": 0, "built": 0}

        def within_reach(self, rows):
            posterior.counted["built"] += 1
            return build(self, rows)

        def arrive(self, state):
            posterior.counted["arrived"] += 1
            self.__dict__.update(state)

        posterior.Metric.within_reach = within_reach
        posterior.LocalPosterior.__setstate__ = arrive

    return count


def counted(client):
    """What was counted since the last time, of each worker."""

    def take():
        from fewknots.local import posterior

        counts, posterior.counted = posterior.counted, {"arrived": 0, "built": 0}
        return counts

    return list(client.run(take).values())


@pytest.mark.parametrize("kind", ["array", "dataframe"])
def test_a_local_model_is_not_sent_with_every_partition(local, two_workers, kind):
    X, _ = rows(16 * PARTITIONS, seed=1)
    lazy = da.from_array(X, chunks=(len(X) // PARTITIONS, 2))
    if kind == "dataframe":
        lazy = dd.from_pandas(pd.DataFrame(X), npartitions=PARTITIONS)
    assert lazy.npartitions == PARTITIONS
    lazily = local.predict_proba(lazy), local.predict(lazy)
    p, labels = (np.asarray(found) for found in dask.compute(*lazily))
    np.testing.assert_allclose(p, local.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(labels, local.predict(X))
    for count in counted(two_workers):
        # once as a rule; twice if a worker was asked to make it and was sent it by the other, too
        assert count["arrived"] <= 2
        assert count["built"] <= 2


def test_a_prediction_is_of_the_model_it_was_asked_of(local):
    """Not of what the estimator learned between then and the computation."""
    X, _ = rows(100)
    clf = copy(local)
    expected, lazily = clf.predict_proba(X), clf.predict_proba(da.from_array(X, chunks=(100, 2)))
    clf.posterior_ = replace(clf.posterior_, mean=np.asarray(clf.posterior_.mean + 1.0))
    assert np.all(clf.predict_proba(X) != expected)
    np.testing.assert_array_equal(lazily.compute(scheduler="synchronous"), expected)


def test_fitting_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"to a sample of the rows.*can predict for Dask"):
        GPClassifier(method="local").fit(*cut(*rows(100), 2))


def test_warm_start_from_a_local_fit_is_refused(local):
    clf = copy(local).set_params(method="sparse_kl", n_neighbors="auto", warm_start=True)
    with pytest.raises(ValueError, match="continues a fit by method='local'"):
        clf.fit(*cut(*rows(100), 2))
