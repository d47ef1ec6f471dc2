"""What a round on a Dask cluster costs, a model of it, and what that model says about large ones.

    python benchmarks/cluster.py measure     1 and 2 workers: rows a worker and M against seconds
    python benchmarks/cluster.py model       fit the model to those points; a billion rows on paper
    python benchmarks/cluster.py tree        artificial delays: does depth cost what it should?
    python benchmarks/cluster.py memory      thousands of small partitions: client and scheduler
    python benchmarks/cluster.py rounds [--data FOLDER]    how many rounds a fit takes
    python benchmarks/cluster.py client [--rounds 15]   the client's work before and between rounds

A round's seconds, W workers with two shares each, n rows a worker, M inducing points:

    T = t0 + t1 W  +  n (a M² + b M) + c M³  +  (1 + 16) depth (8 M² / bandwidth) + 2 depth latency

scheduling    t0 for the client's and scheduler's turns, t1 for each worker's tasks
compute       8 n M² flops and the kernel's n M D, and M³ for Kmm, at the worker's rate
transfer      parameters out, from worker to worker, and sums back: at each of the tree's levels,
              depth = ceil(log8 of the number of shares), a worker takes in eight of them, each
              two integers for every number (training/held_rows.py)

t0, t1, a, b, c come from `measure`; bandwidth and latency are those of the network at hand: 1 GB/s
and 1 ms for processes on one machine, 10 Gbit/s and 1 ms on paper.
"""

import argparse
import json
import math
import os
import resource
import time
from functools import partial
from pathlib import Path

import dask.array as da
import numpy as np

from distributed import Client, LocalCluster
from fewknots import GPClassifier, datasets
from fewknots.data.standardise import Standardiser
from fewknots.distributed.fitting import RowsOnCluster, pieces
from fewknots.distributed.rounds import FAN_IN
from fewknots.inference.sites import WhitenedGaussian
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli
from fewknots.training.held_rows import Point
from fewknots.training.parameters import Model

D = 8
POINTS = [
    (1, 2_000, 100), (1, 20_000, 100), (1, 60_000, 100), (1, 20_000, 200), (1, 2_000, 400),
    (1, 10_000, 400), (2, 2_000, 100), (2, 20_000, 100), (2, 20_000, 200), (2, 10_000, 400),
]  # fmt: skip
OUT = Path("out/cluster.json")
ROUNDS = (1, 5, 10, 20, 40)


def cluster(n_workers):
    """One core a worker: what a second worker adds is then a second core."""
    one_core = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", env=one_core
    )


def summation(client, n_rows, chunk):
    X = da.random.default_rng(0).normal(size=(n_rows, D), chunks=(chunk, D))
    y = X[:, 0] > 0
    wide = np.dtype(np.float64)
    rows = RowsOnCluster(client, pieces(X, y, None), X, None, wide, "auto", None)
    table = rows.table(Standardiser.identity(D), Bernoulli.encoded)
    return table.summation(wide)


def point(M):
    rng = np.random.default_rng(0)
    model = Model(RBF(np.full(D, 2.0), np.asarray(1.0)), rng.normal(size=(M, D)), Bernoulli())
    return Point(model, WhitenedGaussian(np.zeros((1, M)), np.eye(M)[None], np.zeros(())), 1e-6)


def seconds_of_a_round(sums, where, repeats):
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        sums(where)
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))  # the first compiles


def measure(args):
    found = []
    for n_workers in (1, 2):
        with cluster(n_workers) as processes, Client(processes) as client:
            for W, n, M in POINTS:
                if n_workers == W:
                    sums = summation(client, W * n, max(1, n // 2))
                    seconds = seconds_of_a_round(sums, point(M), args.repeats)
                    found.append({"workers": W, "rows": n, "M": M, "seconds": seconds})
                    print(f"W={W} n={n:7d} M={M:4d}  {seconds:.3f} s", flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found))


def depth(n_workers):
    return math.ceil(math.log(max(2 * n_workers, 2), FAN_IN))


def parts(W, n, M, bandwidth, latency):
    """What t0, t1, a, b, c are multiplied by, and what transfer adds."""
    levels = depth(W)
    transfer = levels * ((1 + 2 * FAN_IN) * 8 * M**2 / bandwidth + 2 * latency)
    return np.array([1.0, W, n * M**2, n * M, M**3]), transfer


def model(args):
    from scipy.optimize import nnls

    found = json.loads(OUT.read_text())
    rows, seconds = [], []
    for f in found:
        known, transfer = parts(f["workers"], f["rows"], f["M"], 1e9, 0.001)
        rows.append(known / f["seconds"])  # errors relative to the seconds
        seconds.append(1.0 - transfer / f["seconds"])
    scale = np.max(np.abs(rows), axis=0)
    coefficients = nnls(np.array(rows) / scale, np.array(seconds))[0] / scale
    names = ("t0", "t1", "a", "b", "c")
    print("  ".join(f"{k} = {v:.3g}" for k, v in zip(names, coefficients, strict=True)))
    print("workers    rows    M  measured  model")
    errors = []
    for f in found:
        known, transfer = parts(f["workers"], f["rows"], f["M"], 1e9, 0.001)
        guess = known @ coefficients + transfer
        errors.append(guess / f["seconds"] - 1.0)
        print(f"{f['workers']:7d} {f['rows']:7d} {f['M']:4d} {f['seconds']:9.3f} {guess:6.3f}")
    size = 100.0 * np.abs(errors)
    print(f"largest error {np.max(size):.0f} %, median {np.median(size):.0f} %")
    print(f"\na billion rows, workers of {args.cores} such cores, 10 Gbit/s, 1 ms: seconds a round")
    print("   M   W   compute  scheduling  transfer   round  100 rounds")
    for M in (500, 2000):
        for W in (16, 64, 256, 1024, 4096):
            known, transfer = parts(W, 1e9 / W, M, 1.25e9, 0.001)
            each = known * coefficients
            compute, scheduling = each[2:].sum() / args.cores, each[:2].sum()
            total = compute + scheduling + transfer
            print(
                f"{M:5d} {W:4d} {compute:9.0f} {scheduling:10.2f} {transfer:9.2f} {total:9.0f} "
                f"{100 * total / 3600:8.1f} h"
            )


def slow(value, seconds):
    time.sleep(seconds)
    return value


def slow_sum(values, seconds):
    time.sleep(seconds)
    return sum(values)


def tree(args):
    """Leaves that take 0.2 s, knots that take 0.2 s: T should be 0.2 (1 + depth) and overhead."""
    unit = 0.2
    print("leaves  depth  predicted  measured")
    with (
        LocalCluster(
            processes=False, n_workers=1, threads_per_worker=64, dashboard_address="127.0.0.1:0"
        ) as threads,
        Client(threads) as client,
    ):
        client.gather(client.map(slow, range(64), seconds=0.0))
        for leaves in (1, 2, 8, 9, 64):
            began = time.perf_counter()
            level = client.map(slow, [1] * leaves, seconds=unit, pure=False)
            levels = 0
            while len(level) > 1:
                level = [
                    client.submit(slow_sum, level[i : i + FAN_IN], unit, pure=False)
                    for i in range(0, len(level), FAN_IN)
                ]
                levels += 1
            assert level[0].result() == leaves
            took = time.perf_counter() - began
            print(f"{leaves:6d} {levels:6d} {unit * (1 + levels):9.2f} s {took:8.2f} s", flush=True)


def memory(args):
    """The same partitions' size, more and more of them."""
    for partitions in (200, 1000, 3000):
        with cluster(1) as processes, Client(processes) as client:
            sums = summation(client, partitions * 100, 100)
            where = point(20)
            sums(where)
            tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
            before = resident()
            for _ in range(20):
                sums(where)
            grown = resident() - before
            print(
                f"{partitions:5d} partitions, {partitions * 100:7d} rows: client and scheduler "
                f"{resident() / 2**20:.0f} MB, {grown / 2**20:.1f} MB more after 20 rounds; "
                f"{tasks} tasks known, {len(sums.held) + 2} a round",
                flush=True,
            )
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB")


def resident():
    """Of this process, in which client and scheduler both live here."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def made_up():
    """60,000 rows of five inputs, four of which matter, and not one by one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 5))
    f = 2.0 * np.sin(1.5 * X[:, 0]) + np.cos(2.0 * X[:, 1]) * X[:, 2] + X[:, 3] * X[:, 0]
    return X, 2.0 * f + 0.5 * rng.logistic(size=len(f)) > 0, 30


def small_table(folder, name):
    held = np.load(folder / f"{name}.npz")
    return held["x"].astype(np.float64), held["y"], 100


def some_flights(folder):
    _, X, y, _, ((train, _),), _ = datasets.load("flights", folder)
    chosen = np.sort(np.random.default_rng(0).choice(train, 200_000, replace=False))
    return np.asarray(X[chosen], np.float64), y[chosen], 100


def rounds(args):
    """The bound a row after each of so many rounds; in memory, where a round is the same."""
    sets = {"made up": made_up}
    if args.data is not None:
        sets |= {name: partial(small_table, args.data, name) for name in ("magic", "electricity")}
        sets["flights"] = partial(some_flights, args.data)
    print("data         rows    M  rounds: " + "".join(f"{r:9d}" for r in ROUNDS) + "      end")
    for name, load in sets.items():
        X, y, M = load()
        began = time.perf_counter()
        clf = GPClassifier(
            "rbf",
            warp=None,
            n_inducing=M,
            optimizer="rounds",
            random_state=0,
            max_time=args.seconds,
        ).fit(X, y)
        seconds, bounds = time.perf_counter() - began, clf.history_["bound"] / len(X)
        cells = [f"{bounds[r - 1]:9.5f}" if r <= len(bounds) else 9 * " " for r in ROUNDS]
        print(
            f"{name:11s} {len(X):6d} {M:4d}          {''.join(cells)} {bounds[-1]:9.5f} "
            f"after {len(bounds)} rounds, {seconds:.0f} s"
            f"{'' if clf.converged_ else ', not converged'}",
            flush=True,
        )


def some_classes(n_rows, n_classes):
    rng = np.random.default_rng(0)
    X, ways = rng.normal(size=(n_rows, 6)), rng.normal(size=(6, n_classes))
    f = 3.0 * np.sin(X @ ways) + X @ rng.normal(size=(6, n_classes))
    return X, np.argmax(f + rng.gumbel(size=f.shape), axis=1)


def client_work(args):
    """Seconds of the client's CPU, and of the clock; two workers, one core each."""
    X, y, _ = made_up()
    fits = {
        "40,000 rows, M = 30": (X[:40_000], y[:40_000], {"n_inducing": 30, "optimizer": "rounds"}),
        "1,700 rows, 7 classes": (*some_classes(1700, 7), {"optimizer": "rounds"}),
        "the same, gathered": (*some_classes(1700, 7), {}),
    }
    print(f"{'seconds of CPU (clock)':24s}{'first report':>16s}{'between two':>16s}{'whole':>16s}")
    with cluster(2) as processes, Client(processes):
        for name, (X, y, settings) in fits.items():
            marks = [(time.process_time(), time.perf_counter())]

            def note(now, marks=marks):
                marks.append((time.process_time(), time.perf_counter()))

            if "optimizer" in settings:
                settings["max_iter"] = args.rounds
            lazy = da.from_array(X, chunks=(len(X) // 4, X.shape[1]))
            labels = da.from_array(y, chunks=len(X) // 4)
            clf = GPClassifier(random_state=0, callback=note, **settings).fit(lazy, labels)
            note(None)
            spent = np.diff(marks, axis=0)
            cells = spent[0], np.median(spent[1:-1], axis=0), np.sum(spent, axis=0)
            text = "".join(f"{f'{cpu:.1f} ({clock:.1f})':>16s}" for cpu, clock in cells)
            print(f"{name:24s}{text}  {clf.n_iter_} iterations of {clf.method_}", flush=True)


TASKS = {
    "measure": measure,
    "model": model,
    "tree": tree,
    "memory": memory,
    "rounds": rounds,
    "client": client_work,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=tuple(TASKS))
    parser.add_argument("--rounds", type=int, default=15, help="of `client`")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cores", type=int, default=32, help="of a worker on paper")
    parser.add_argument("--seconds", type=float, default=400.0, help="at most, for a fit in rounds")
    parser.add_argument("--data", type=Path, help="holds magic.npz, electricity.npz, the flights")
    arguments = parser.parse_args()
    TASKS[arguments.what](arguments)
