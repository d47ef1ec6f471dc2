"""Neighbour searches for the local classifier, from 2 to 784 inputs: what they cost and lose.

    pip install hnswlib pynndescent faiss-cpu
    python benchmarks/neighbours.py --data FOLDER [--names magic covtype ...] [--steps 100]

For each data set a local classifier learns its metric in `--steps` batches, and then every search
is built over the training rows in that metric and asked for the neighbours of held-out rows.
Seconds to build, microseconds a query on all cores, the share of the true neighbours found, and by
how much the NLP of the held-out rows is worse with these neighbours than with the true ones. A
search whose package is missing is left out, and so is one that is still at work after `--patience`
seconds. `flights_2` is the flights with two inputs.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import local_table
from fewknots import GPClassifier
from fewknots.local.neighbours import BlockSearch, TreeSearch, metric
from fewknots.numerics.precision import computing_in, current_platform

NAMES = ("flights_2", "electricity", "flights", "magic", "ringnorm", "covtype", "adult",
         "mnist_odd_even")  # fmt: skip
Query = Callable[[np.ndarray, int], np.ndarray]


def load(name: str, folder: Path):
    if name != "flights_2":
        return local_table.load(name, folder, 10**9)
    X, y, X_test, y_test = local_table.load("flights", folder, 10**9)
    return X[:, :2], y, X_test[:, :2], y_test


# --- the searches: rows in, a way to ask out ---------------------------------------------------


def scipy_tree(X: np.ndarray) -> Query:
    return TreeSearch(X, np.ones(X.shape[1])).nearest


def all_distances(X: np.ndarray) -> Query:
    with computing_in(X.dtype):
        search = BlockSearch(X, np.ones(X.shape[1]))

    def query(Q, k):
        with computing_in(X.dtype):
            return search.nearest(Q, k)

    return query


def sklearn_kd_tree(X: np.ndarray) -> Query:
    from sklearn.neighbors import KDTree

    tree = KDTree(X)
    return lambda Q, k: tree.query(Q, k, return_distance=False)


def sklearn_ball_tree(X: np.ndarray) -> Query:
    from sklearn.neighbors import BallTree

    tree = BallTree(X)
    return lambda Q, k: tree.query(Q, k, return_distance=False)


def hnsw(X: np.ndarray) -> Query:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), ef_construction=100, M=16)
    index.add_items(X)
    index.set_ef(150)
    return lambda Q, k: index.knn_query(Q, k)[0]


def nn_descent(X: np.ndarray) -> Query:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=30, random_state=0)
    index.prepare()
    return lambda Q, k: index.query(Q, k)[0]


def faiss_flat(X: np.ndarray) -> Query:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return lambda Q, k: index.search(Q, k)[1]


def faiss_lists(X: np.ndarray) -> Query:
    import faiss

    n_lists = int(4 * np.sqrt(len(X)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
    some = np.random.default_rng(0).permutation(len(X))[: 40 * n_lists]
    index.train(X[some])
    index.add(X)
    index.nprobe = 32
    return lambda Q, k: index.search(Q, k)[1]


SEARCHES = (scipy_tree, all_distances, sklearn_kd_tree, sklearn_ball_tree, hnsw, nn_descent,
            faiss_flat, faiss_lists)  # fmt: skip


def timed(build: Callable, X: np.ndarray, Q: np.ndarray, k: int, pipe) -> None:
    """In a process of its own, which can be ended."""
    try:
        started = time.perf_counter()
        query = build(X)
        built = time.perf_counter() - started
        query(Q[:256], k)  # compiles, where something is compiled
        started = time.perf_counter()
        found = query(Q, k)
        pipe.send((built, (time.perf_counter() - started) / len(Q), np.asarray(found, np.int32)))
    except ImportError:
        pipe.send(None)


def measured(build: Callable, X, Q, k, patience: float):
    """(seconds to build, seconds a query, neighbours), None, or "too slow"."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=timed, args=(build, X, Q, k, there)
    )
    process.start()
    try:
        return here.recv() if here.poll(patience) else "too slow"
    finally:
        process.kill()
        process.join()


# --- what the neighbours are worth -------------------------------------------------------------


class Given:
    """A search that answers what it was told."""

    def __init__(self, found: np.ndarray):
        self.found = found

    def nearest(self, queries, k):
        return self.found


def nlp(posterior, Q, y, found) -> float:
    posterior.__dict__["_search"] = Given(found)
    mean, variance = posterior.marginals(Q)
    log_prob = posterior.likelihood.tilted(np.where(y > 0, 1.0, -1.0), mean, variance).log_prob
    return -float(np.mean(np.asarray(log_prob, np.float64)))


def compared(name: str, folder: Path, options) -> Iterator[str]:
    X, y, X_test, y_test = load(name, folder)
    rng = np.random.default_rng(0)
    some = rng.permutation(len(y_test))[: options.queries]
    common = {"warp": None, "method": "local", "random_state": 0}
    clf = GPClassifier("matern32", max_iter=options.steps, **common)
    clf.fit(X, y)
    posterior = clf.posterior_
    k = posterior.n_neighbors
    scale = metric(clf.kernel_, X.shape[1])
    rows = np.ascontiguousarray(posterior.points / scale, np.float32)
    standard = clf._standardiser(X_test[some]).astype(posterior.points.dtype)
    queries = np.ascontiguousarray(standard / scale, np.float32)
    yield f"{name}: {len(y)} rows, {X.shape[1]} inputs, {len(some)} queries, K = {k}"
    exact = measured(faiss_flat, rows, queries, k, 10 * options.patience)
    assert isinstance(exact, tuple), "the reference needs faiss-cpu"
    best = nlp(posterior, standard, y_test[some], exact[2])
    for build in SEARCHES:
        found = measured(build, rows, queries, k, options.patience)
        if not isinstance(found, tuple):
            yield f"  {build.__name__:<18} {found or 'not installed'}"
            continue
        built, each, near = found
        share = np.mean([len(set(a) & set(b)) / k for a, b in zip(near, exact[2], strict=True)])
        loss = nlp(posterior, standard, y_test[some], np.maximum(near, 0)) - best
        yield (
            f"  {build.__name__:<18} build {built:7.1f} s   query {1e6 * each:8.0f} us   "
            f"found {share:.4f}   NLP {loss:+.4f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--patience", type=float, default=100.0)
    options = parser.parse_args()
    print(f"platform: {current_platform()}, {os.cpu_count()} cores")
    for name in options.names:
        for line in compared(name, Path(options.data), options):
            print(line, flush=True)


if __name__ == "__main__":
    main()
