"""The other libraries' part of benchmarks/tables.py: many fits side by side, here or elsewhere.

    python benchmarks/tables_jobs.py --tables FOLDER --out FOLDER [--jobs 16] [--seconds 480]
        [--sets NAMES] [--methods NAMES] [--splits 3] [--curves]

Needs tables_fits.py and tables_peers.py beside it, and what they need. FOLDER of `--tables` is what
`tables.py --prepare` has written. Every result is a line in a file of its library in `--out`
(JSON), every tried setting a line in `trials.jsonl`. What has a line there is not run again, so the
command goes on where it was stopped, and files of several machines can lie in one folder. After
`--seconds` it stops; fits under way are lost.

`--jobs` processes run at a time, each with one thread. The order is what matters most: split 0 of
all sets, then 1, then 2; in each the defaults, then tuned LightGBM, XGBoost, logistic regression
and histogram boosting; small sets first. At the end CatBoost, the slowest, and mnist, which takes
longer than all other sets together.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import queue
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tables_fits import SETTINGS, TRIALS, fit_and_score, try_setting
from tables_peers import PEERS, TUNED

MOST_ROWS = {"scikit-learn GP": 1000}  # its time grows with the cube of them
TREES_OF_CURVES = (10, 20, 50, 100, 200, 500, 1000)
SETS_OF_CURVES = ("magic", "electricity", "adult", "letter")
LAST_METHOD, LAST_SET = "CatBoost", "mnist"


_DO = {"try_setting": try_setting, "fit_and_score": fit_and_score}


def compute(task):
    """In a process of the pool: what a task asks for, or why there is nothing."""
    warnings.simplefilter("ignore")
    try:
        return task, _DO[task["do"]](*task["of"])
    except Exception as error:
        return task, {"failed": f"{type(error).__name__}: {error}"}


def read_lines(folder):
    """All results in a folder and those in it, by set, split, method and trial.

    What was measured twice counts from the run in which fewer fits went on side by side.
    """
    found = {}
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text().splitlines():
            cell = json.loads(line)
            key = (cell["set"], cell["split"], cell["method"], cell.get("trial"))
            if key not in found or cell.get("jobs", 1) < found[key].get("jobs", 1):
                found[key] = cell
    return found


def label_of(method, variant):
    return f"{method}, {variant}" if variant else method


def steps(options):
    """(sets, split, method, variant), what matters most first; sets with few cells first."""
    sizes = {}
    for path in options.tables.glob("*.npz"):
        held = np.load(path)
        sizes[path.stem] = len(held["train_0"]), held["x"].shape[1] * len(np.unique(held["y"]))
    order = sorted(sizes, key=lambda name: np.prod(sizes[name]))
    order = [name for name in order if options.sets is None or name in options.sets]
    most, last = ([n for n in order if (n == LAST_SET) == is_last] for is_last in (False, True))
    early = [name for name in PEERS if name != LAST_METHOD]
    chosen = [name for name in most if name in SETS_OF_CURVES]
    for sets, methods in ((most, early), (most, [LAST_METHOD]), (last, [*PEERS])):
        for split in range(options.splits):
            pairs = [(method, "") for method in methods]
            pairs += [(method, "tuned") for method in methods if PEERS[method].space]
            for method, variant in pairs:
                limit = MOST_ROWS.get(method, np.inf)
                yield [n for n in sets if sizes[n][0] <= limit], split, method, variant
            if options.curves and split == 0 and sets is most and methods is early:
                for count in TREES_OF_CURVES:
                    yield chosen, split, "LightGBM", f"{count} trees"


def wanted(options):
    """(set, split, method, variant) of all results to be had here."""
    for names, split, method, variant in steps(options):
        library, label = PEERS[method].library, label_of(method, variant)
        if library and find_spec(library) is None:
            continue
        if options.methods is None or label in options.methods or "trees" in variant:
            yield from ((name, split, method, variant) for name in names)


class Run:
    """The results to be had as tasks: 30 trials and a last fit for a tuned one, else one fit."""

    def __init__(self, options):
        self.options, self.trials = options, {}
        self.done = read_lines(options.out)
        for (name, split, method, trial), cell in self.done.items():
            if trial is not None:
                self.trials.setdefault((name, split, method), {})[trial] = cell

    def tasks(self):
        for name, split, method, variant in wanted(self.options):
            label = label_of(method, variant)
            if (name, split, label, None) in self.done:
                continue
            if variant != "tuned":
                yield self._last_fit(name, split, method, variant, [])
                continue
            tried = self.trials.setdefault((name, split, method), {})
            missing = [t for t in range(TRIALS.get(method, SETTINGS)) if t not in tried]
            for trial in missing:
                of = (self.options.tables, name, split, method, trial)
                yield {"do": "try_setting", "of": of}
            if not missing:
                yield self._last_fit(name, split, method, variant, list(tried.values()))

    def _last_fit(self, name, split, method, variant, trials):
        of = (self.options.tables, name, split, method, variant, trials)
        return {"do": "fit_and_score", "of": of}

    def keep(self, task, found):
        """A line for it; and the last fit of a search whose last trial this was."""
        _, name, split, method, variant = task["of"][:5]
        is_trial = task["do"] == "try_setting"
        label = method if is_trial else label_of(method, variant)
        if "failed" in found:
            print(f"{name}, split {split}, {label}: {found['failed']}", flush=True)
            return None
        machine = {"jobs": self.options.jobs, "cores": os.cpu_count()}
        line = {"set": name, "split": split, "method": label} | found | machine
        file = "trials" if is_trial else method.replace(" ", "_")
        with open(self.options.out / f"{file}.jsonl", "a") as lines:
            lines.write(json.dumps(line) + "\n")
        if not is_trial:
            took = f"NLP {found['nlp']:.4f}, {found['cpu_seconds']:.1f} CPU s"
            print(f"{name}, split {split}, {label}: {took}", flush=True)
            return None
        tried = self.trials[name, split, method]
        tried[variant] = found
        if len(tried) < TRIALS.get(method, SETTINGS):
            return None
        return self._last_fit(name, split, method, "tuned", list(tried.values()))


def run(options):
    """All tasks without a result, `jobs` at a time, until `seconds` are over."""
    until = time.perf_counter() + options.seconds
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the processes of the pool, before they import anything
    options.out.mkdir(parents=True, exist_ok=True)
    work = Run(options)
    todo, finished, under_way = work.tasks(), queue.SimpleQueue(), 0
    pool = multiprocessing.get_context("spawn").Pool(options.jobs)
    try:
        while True:
            for task in itertools.islice(todo, options.jobs - under_way):
                pool.apply_async(compute, (task,), callback=finished.put)
                under_way += 1
            if not under_way:
                return True
            try:
                task, found = finished.get(timeout=max(0.0, until - time.perf_counter()))
            except queue.Empty:
                return False
            under_way -= 1
            following = work.keep(task, found)
            if following:
                todo = itertools.chain([following], todo)
    finally:
        pool.terminate()
        pool.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", help=f"of {(*PEERS, *TUNED)}")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--curves", action="store_true", help="LightGBM by its number of trees")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e6)
    options = parser.parse_args()
    print("all done" if run(options) else "stopped: the time is over", flush=True)


if __name__ == "__main__":
    main()
