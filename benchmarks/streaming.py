"""Training from Parquet: rows a second and peak memory as the file grows, with and without disk.

    python benchmarks/streaming.py [--data FOLDER] [--rows 1e6 3e6 1e7 3e7] [--inducing 100]

Files with that many rows of eight features are generated (and deleted again); with FOLDER,
airline_2001h1_3m.parquet is streamed too. Each fit runs in a process of its own. "reading" is the
first pass (check, standardise, copy to the scratch file), "rows/s" the training loop after its
first chunk of steps, which compiles. The last line trains the same model on a million rows that lie
in memory: the loop without the input pipeline.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FEATURES = [f"x{i}" for i in range(8)]
STEPS = 1000


def block(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    X = rng.normal(size=(rows, 8)).astype(np.float32)
    score = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows)
    return {name: X[:, i] for i, name in enumerate(FEATURES)} | {"late": score > 0}


def generate(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 500_000):
        table = pa.table(block(rng, min(500_000, rows - start)))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def child(options) -> None:
    """One fit; what it took, as JSON."""
    from fewknots import GPClassifier

    marks = []
    clf = GPClassifier(
        "rbf",
        warp=None,
        n_inducing=options.inducing,
        max_iter=STEPS,
        tol=0.0,
        random_state=0,
        callback=marks.append,
        optimizer="natural_gradient",
    )
    started = time.perf_counter()
    if options.child == "memory":
        columns = block(np.random.default_rng(0), 1_000_000)
        y = columns.pop("late")
        X = np.column_stack(list(columns.values()))
        started = time.perf_counter()
        clf.fit(X, y)
        reading = 0.0
    else:
        from fewknots.data.spool import Spool

        honest = Spool.written

        def timed(*arguments):
            before = time.perf_counter()
            spool = honest(*arguments)
            timed.seconds = time.perf_counter() - before
            return spool

        Spool.written = timed
        target = options.target
        features = None if target == "late" else ["month", "day_of_month", "dep_time", "distance"]
        clf.fit_stream(options.child, target, features=features)
        reading = timed.seconds
    total = time.perf_counter() - started
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(
        json.dumps(
            {
                "reading": reading,
                "rows_per_second": float(np.mean([m.rows_per_second for m in marks[1:]])),
                "total": total,
                "peak_mb": peak,
            }
        )
    )


def measure(name: str, source: str, target: str, inducing: int) -> None:
    command = [sys.executable, __file__, "--child", source, "--target", target]
    command += ["--inducing", str(inducing)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    print(
        f"{name:<22} reading {found['reading']:6.1f} s   training "
        f"{found['rows_per_second']:>9,.0f} rows/s   in all {found['total']:6.1f} s   "
        f"peak {found['peak_mb']:6.0f} MB",
        flush=True,
    )


def late_flights(folder: Path, out: Path) -> None:
    """The three million flights with a column that says whether they were late."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "airline_2001h1_3m.parquet")
    late = pc.greater(table["arr_delay"], 0)
    pq.write_table(table.append_column("is_late", late), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 3e6, 1e7, 3e7])
    parser.add_argument("--inducing", type=int, default=100)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    print(f"M = {options.inducing}, {STEPS} steps")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for rows in map(int, options.rows):
            generate(path, rows)
            measure(f"{rows:,} rows", str(path), "late", options.inducing)
        if options.data is not None:
            late_flights(Path(options.data), path)
            measure("2,999,994 flights", str(path), "is_late", options.inducing)
    measure("1,000,000 in memory", "memory", "late", options.inducing)


if __name__ == "__main__":
    main()
