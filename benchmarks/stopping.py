"""How soon a fit ends: after Ctrl-C or SIGTERM at any moment, and at the end of its time.

    python benchmarks/stopping.py [--rows 6000] [--moments 1 2 3 ...] [--times 5 10 20]
        [--flights FOLDER]

With a FOLDER of airline_8feature.parquet it ends with a minute on 923,579 flights.

Each line is a process of its own, compiling included. Seconds of CPU are those that the process
used between the signal and its end, or the end of `fit` in a Python program that goes on: on a busy
machine the others are not its own.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fewknots import GPClassifier, datasets

# as from a terminal: a process that was started in the background ignores Ctrl-C
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from fewknots.cli import main; main()"
)
PYTHON_FIT = """
import os, signal, sys, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from fewknots import GPClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(int(sys.argv[1]), 4))
y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=len(X)) > 0
warnings.simplefilter("ignore")
print("ready", flush=True)
clf = GPClassifier(random_state=0, **eval(sys.argv[2]))
try:
    clf.fit(X, y)
    kept = "a model"
except KeyboardInterrupt:
    kept = "nothing"
print(time.process_time(), kept, flush=True)
os._exit(0)
"""
FIT = """
import sys, time
import numpy as np
from fewknots import GPClassifier
rows, seconds = int(sys.argv[1]), float(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, 10))
y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=rows) > 0
for which in ("first", "second"):
    started = time.perf_counter()
    clf = GPClassifier(max_time=seconds, random_state=0).fit(X, y)
    took = time.perf_counter() - started
    competed = " and ".join(clf.contest_) or "no one"
    print(f"| {seconds:g} | {which} | {took:.1f} | {clf.method_} | {competed} |", flush=True)
"""


def write_rows(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    late = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=rows) > 0
    columns = {name: X[:, i] for i, name in enumerate("abcd")}
    pq.write_table(pa.table(columns | {"late": late}), path)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(table: Path, moment: float, how: signal.Signals) -> str:
    model = table.with_name("m.fewknots")
    model.unlink(missing_ok=True)
    arguments = ["fit", str(table), "--target", "late", "--out", str(model)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(moment)
    if process.poll() is not None:
        return f"| {how.name} | {moment:g} | over before | | {process.returncode} | |"
    before = used = cpu_seconds(process.pid)
    sent = time.perf_counter()
    process.send_signal(how)
    while process.poll() is None:
        used = cpu_seconds(process.pid) or used
        time.sleep(0.01)
    wall = time.perf_counter() - sent
    kept = "a model" if model.exists() else "nothing"
    return (
        f"| {how.name} | {moment:g} | {wall:.2f} | {used - before:.2f} | "
        f"{process.returncode} | {kept} |"
    )


def interrupted_fit(rows: int, parameters: str, moment: float) -> str:
    """Ctrl-C so many seconds after `fit` was called."""
    process = subprocess.Popen(
        [sys.executable, "-c", PYTHON_FIT, str(rows), parameters], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment)
    before, sent = cpu_seconds(process.pid), time.perf_counter()
    process.send_signal(signal.SIGINT)
    used, kept = process.stdout.readline().strip().split(" ", 1)
    wall = time.perf_counter() - sent
    process.wait()
    if float(used) < before:
        return f"| {parameters} | {moment:g} | over before | | |"
    return f"| {parameters} | {moment:g} | {wall:.2f} | {float(used) - before:.2f} | {kept} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--moments", type=float, nargs="*", default=[1, 2, 3, 4, 6, 8, 10, 12])
    parser.add_argument("--times", type=float, nargs="*", default=[5, 10, 20])
    parser.add_argument("--flights", type=Path)
    options = parser.parse_args()
    print("| signal | after, s | until the end, s | CPU, s | exit code | kept |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "rows.parquet")
        write_rows(table, options.rows)
        for how in (signal.SIGINT, signal.SIGTERM):
            for moment in options.moments:
                print(interrupted(table, moment, how), flush=True)
    print("\n| a fit in Python | Ctrl-C after, s | until the end, s | CPU, s | kept |")
    print("|---|---|---|---|---|")
    for parameters in ("{}", "{'method': 'sparse_kl'}", "{'optimizer': 'natural_gradient'}"):
        for moment in options.moments:
            print(interrupted_fit(options.rows, parameters, moment), flush=True)
    print("\n| max_time, s | fit of the process | took, s | method | competed |")
    print("|---|---|---|---|---|")
    for seconds in options.times:
        subprocess.run([sys.executable, "-c", FIT, "10000", str(seconds)], check=True)
    if options.flights is not None:
        _, X, y, _, ((train, _),), _ = datasets.load("flights", options.flights)
        started = time.perf_counter()
        clf = GPClassifier(max_time=60.0, random_state=0).fit(X[train].astype(float), y[train])
        took = time.perf_counter() - started
        print(f"\n{len(train):,} flights, max_time=60: {took:.1f} s, {clf.method_}, {clf.contest_}")


if __name__ == "__main__":
    main()
