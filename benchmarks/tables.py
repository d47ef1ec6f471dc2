"""Defaults beside other libraries on many tables: NLP, error, calibration, seconds.

    python benchmarks/tables.py --data FOLDER --out FOLDER [--sets NAMES] [--methods NAMES]
        [--splits 3] [--ablate] [--curves] [--jobs 2] [--peers-python PATH] [--docs FOLDER]

FOLDER of `--data` holds the sets (docs/datasets.md); tables_data.py says how each is split. Every
result is a line of a file in `--out`, and what has a line is not run again: the command goes on
where it was stopped.

- `GPClassifier()` runs here, each fit in a process of its own, all cores; raw tables (texts, gaps)
  are given as they are. Compiling is counted, imports are not.
- `--ablate`: the same with one ingredient of the defaults left out, on split 0 (ABLATIONS).
- `--curves`: NLP after so many seconds (`max_time`) beside LightGBM's after so many trees.
- The other libraries (tables_jobs.py) run in `--peers-python`, `--jobs` fits at a time; one that
  is not installed there is left out.
- At the end tables_summary.py prints tables of what is there, and with `--docs docs` writes them
  into benchmarks.md of that folder, with the plots.

The other libraries can run elsewhere, too, without pandas or fewknots: `--prepare` only writes
OUT/tables, which tables_jobs.py reads; the files that it writes are to be put anywhere below
`--out`. `--summary` runs nothing.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

import tables_fits as fits
import tables_summary
from tables_data import SETS, SPLITS, of_split, prepare
from tables_jobs import SETS_OF_CURVES, read_lines

ABLATIONS = {
    "warp=None": {"warp": None},
    "no Linear": {"kernel": "matern32 + constant"},  # and no priors: a kernel by name has none
    "no priors": {"kernel": "matern32 + linear + constant"},  # nor several starts
    "kernel='rbf'": {"kernel": "rbf"},
    "kernel='rbf', warp=None": {"kernel": "rbf", "warp": None},  # as in the paper
    "ard=False": {"ard": False},
    "learn_inducing=False": {"learn_inducing": False},
    "no combination": {},
    "method='sparse_kl'": {"method": "sparse_kl"},  # neither neighbours nor a combination
    "method='local'": {"method": "local"},
}
SECONDS_OF_CURVES = (2, 5, 10, 20, 40, 80)
_LONGEST = 3600


def variants(options, name, split):
    """What is to be fitted to this split, by the labels of the results."""
    found = {"fewknots": {}}
    if options.ablate and split == 0:
        found |= {f"fewknots, {label}": given for label, given in ABLATIONS.items()}
    if options.curves and split == 0 and name in SETS_OF_CURVES:
        found |= {f"fewknots, {s} s": {"max_time": s} for s in SECONDS_OF_CURVES}
    if options.methods is not None and "fewknots" not in options.methods:
        del found["fewknots"]
    return found


def measure(name, split, label, arguments, options):
    """One fit and its scores."""
    from fewknots import GPClassifier
    from fewknots.fitting import combination

    warnings.simplefilter("ignore")
    if label.endswith("no combination"):
        combination.WORTHWHILE = np.inf
    X, y, X_test, y_test = of_split(name, split, options.data, options.tables)
    model = GPClassifier(random_state=0, **arguments)
    clock = fits.Clock()
    model.fit(X, y)
    times = clock.read()
    rows = X_test if isinstance(X_test, np.ndarray) else X_test.reset_index(drop=True)
    found = fits.scores(model.predict_proba(rows), model.classes_, y_test)
    times["seconds_10000"] = fits.seconds_for_10000(model, rows)
    shape = {"rows": len(y), "inputs": X.shape[1], "classes": len(model.classes_)}
    won = {"won": model.method_, "jobs": 1}
    return {"set": name, "split": split, "method": label} | shape | found | times | won


def run_missing(options):
    """Every result of ours without a line, each in a process of its own."""
    done = read_lines(options.out)
    for split in range(options.splits):
        for name in options.sets:
            for label in variants(options, name, split):
                if (name, split, label, None) in done:
                    continue
                print(f"{name}, split {split}: {label}", flush=True)
                command = [sys.executable, __file__, *sys.argv[1:]]
                command += ["--cell", name, str(split), label]
                try:
                    subprocess.run(command, check=True, timeout=_LONGEST)
                except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                    print(f"  failed: {error}", flush=True)


def run_cell(options):
    """One of them, in its process: a line in its file."""
    name, split, label = options.cell
    arguments = variants(options, name, int(split))[label]
    found = measure(name, int(split), label, arguments, options)
    with open(options.out / "fewknots.jsonl", "a") as lines:
        lines.write(json.dumps(found) + "\n")
    print(f"  NLP {found['nlp']:.4f}, error {found['error']:.2%}, {found['seconds']:.1f} s")


def run_peers(options):
    """tables_jobs.py, with the interpreter that has the libraries."""
    command = [options.peers_python, Path(__file__).with_name("tables_jobs.py")]
    command += ["--tables", options.tables, "--out", options.out, "--splits", str(options.splits)]
    command += ["--jobs", str(options.jobs), "--sets", *options.sets]
    if options.methods is not None:
        command += ["--methods", *options.methods]
    if options.curves:
        command += ["--curves"]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="where the sets are")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", help='"fewknots", and those of tables_peers.py')
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--ablate", action="store_true", help="leave out one ingredient at a time")
    parser.add_argument("--curves", action="store_true", help="NLP after so many seconds")
    parser.add_argument("--jobs", type=int, default=1, help="fits of other libraries at a time")
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--prepare", action="store_true", help="only write OUT/tables")
    parser.add_argument("--summary", action="store_true", help="only print what is there")
    parser.add_argument("--docs", type=Path, help="write the summary into its benchmarks.md")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.tables = options.out / "tables"
    if options.cell:
        run_cell(options)
        return
    if not options.summary:
        if options.data is None:
            parser.error("say where the sets are: --data FOLDER")
        prepare(options.sets, options.data, options.tables)
    if options.prepare:
        return
    if not options.summary:
        run_missing(options)
        run_peers(options)
    tables_summary.write(read_lines(options.out), options.docs)


if __name__ == "__main__":
    main()
