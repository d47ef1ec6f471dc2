"""Small data, and clusters of real processes that share a cache of compiled programs."""

import gc
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da

from distributed import Client, LocalCluster

from ..compiling import as_here

# Tests are short: Dask need not keep looking at its own processes.
dask.config.set({"distributed.worker.profile.enabled": False})
N = 900
SETTINGS = {
    "kernel": "rbf",
    "n_inducing": 8,
    "optimizer": "rounds",
    "random_state": 0,
    "max_iter": 8,
}


def rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 3.0] + [0.0, 7.0]
    score = np.sin(2.0 * X[:, 0]) + 0.3 * (X[:, 1] - 7.0) + 0.5 * rng.normal(size=n)
    return X, np.where(score > 0, "late", "in time")


def three_classes(X, y):
    """Of the labels of `rows`, a third one where the second column is large."""
    return np.where(X[:, 1] > 9.0, "never", y)


def cut(X, y, partitions):
    size = -(-len(X) // partitions)
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


def pytest_collection_modifyitems(items):
    """Whatever is in this folder is marked, and can be left out: -m "not cluster"."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("cluster")


@pytest.fixture(autouse=True, scope="package")
def small_samples():
    """So that 900 rows are many, and a fit is one of several rounds."""
    from fewknots.fitting import in_steps

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_steps, "_SAMPLE_ROWS", 100)
        yield


@pytest.fixture(scope="session")
def compiled():
    """Environment variables of processes, whose programs are compiled once for the whole suite."""
    return {
        "OMP_NUM_THREADS": "1",
        "XLA_FLAGS": os.environ["XLA_FLAGS"],  # products must be rounded as in this process
        "JAX_COMPILATION_CACHE_DIR": os.environ["JAX_COMPILATION_CACHE_DIR"],
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [_source(), os.environ.get("PYTHONPATH")])),
    }


def _source():
    import fewknots

    return os.path.dirname(os.path.dirname(fewknots.__file__))


@pytest.fixture(scope="session")
def cluster(compiled):
    """`with cluster(3) as client`: that many worker processes, each with a nanny."""

    @contextmanager
    def started(n_workers):
        gc.collect()  # a client that was never closed must not be found while a cluster starts
        with (
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                env=compiled | as_here(),
                silence_logs=50,
            ) as processes,
            Client(processes) as client,
        ):
            yield client

    return started


@pytest.fixture(scope="package")
def in_memory(small_samples):
    """The fit that every cluster must arrive at."""
    from fewknots import GPClassifier

    with pytest.warns(Warning, match="had not converged"):
        return GPClassifier(**SETTINGS).fit(*rows())
