"""What a reader has to follow: the files that a fit passes through, for each of seven ways in.

    python benchmarks/walk.py [names of ways]

Each way runs in a process of its own. Of all functions of the package that are called, in the
order of their first calls: how many files they are in, how many they are, and how often the next
one is in another file. Importing a module is not a call, nor is what runs while it is imported:
class bodies and decorators.
"""

import itertools
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

WAYS = {}


def way(run):
    WAYS[run.__name__] = run
    return run


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0


def write_table(path, n):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = rows(n)
    columns = {name: X[:, i] for i, name in enumerate("abc")}
    pq.write_table(pa.table(columns | {"late": y}), path)


@way
def fit_500_rows():
    from fewknots import GPClassifier

    return lambda: GPClassifier(max_iter=20).fit(*rows(500))


@way
def fit_100_000_rows():
    from fewknots import GPClassifier

    return lambda: GPClassifier(random_state=0, max_time=20).fit(*rows(100_000))


@way
def fit_local():
    from fewknots import GPClassifier

    return lambda: GPClassifier(method="local", max_iter=5, random_state=0).fit(*rows(3000))


@way
def fit_regressor():
    from fewknots import GPRegressor

    X, _ = rows(500)
    return lambda: GPRegressor(max_iter=20).fit(X, np.sin(X[:, 0]))


@way
def fit_stream():
    from fewknots import GPClassifier

    folder = Path(tempfile.mkdtemp())
    write_table(folder / "t.parquet", 30_000)
    clf = GPClassifier(n_inducing=20, max_iter=200, random_state=0)
    return lambda: clf.fit_stream(str(folder / "t.parquet"), "late")


@way
def fit_dask():
    import dask.array as da
    from dask.distributed import Client

    from fewknots import GPClassifier

    Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    X, y = rows(3000)
    clf = GPClassifier(n_inducing=10, max_iter=3, random_state=0)
    return lambda: clf.fit(da.from_array(X, chunks=(1000, 3)), da.from_array(y, chunks=1000))


@way
def command_fit():
    from fewknots.cli.app import app
    from fewknots.cli.running import run

    folder = Path(tempfile.mkdtemp())
    write_table(folder / "t.parquet", 500)
    arguments = [
        "fit",
        str(folder / "t.parquet"),
        "-t",
        "late",
        "--out",
        str(folder / "m.fewknots"),
    ]
    return lambda: run(app, arguments)


class Walk:
    """The package's functions in the order of their first calls, in all threads."""

    def __init__(self):
        import fewknots

        self._root = str(Path(fewknots.__file__).parent)
        self._known = {}
        self.steps = []

    def __call__(self, frame, event, _):
        if event != "call":
            return
        code = frame.f_code
        if code in self._known:
            return
        inside = code.co_filename.startswith(self._root)
        if inside and self._imports(frame):
            return  # and not known yet: a fit may call it later
        self._known[code] = inside
        if inside:
            self.steps.append((code.co_filename.removeprefix(self._root), code.co_qualname))

    def _imports(self, frame):
        """Whether the frame is a module of the package being imported, or below one."""
        while frame is not None:
            code = frame.f_code
            if code.co_name == "<module>" and code.co_filename.startswith(self._root):
                return True
            frame = frame.f_back
        return False

    def told(self):
        files = [file for file, _ in self.steps]
        changes = sum(one != other for one, other in itertools.pairwise(files))
        return len(set(files)), len(files), changes


def main():
    names = sys.argv[1:] or list(WAYS)
    if len(names) > 1:
        print("| way in | files | functions | changes of file |\n|---|---|---|---|", flush=True)
        for name in names:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    run = WAYS[names[0]]()
    walk = Walk()
    threading.setprofile(walk)  # programs are traced in a thread of their own
    sys.setprofile(walk)
    run()
    sys.setprofile(None)
    print(f"| {names[0]} | " + " | ".join(map(str, walk.told())) + " |", flush=True)


if __name__ == "__main__":
    main()
