"""Install the wheel in a fresh environment and use it there, in an empty folder.

    python release/try_wheel.py dist/fewknots-1.0.0-py3-none-any.whl [-c constraints.txt]

First as it is, without extras: fit, save, load and predict in Python, and the command line, which
must say what it lacks. Then with the extra `paper`, which holds `cli` and `plots`: the command line
from a CSV file to a report, the demo, and the list of the paper's experiments.
"""

import argparse
import csv
import os
import random
import subprocess
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

_IN_PYTHON = """
import importlib.resources, sys
import numpy as np
import fewknots
from fewknots import GPClassifier, load

assert fewknots.__file__.startswith(sys.prefix), fewknots.__file__
assert fewknots.__version__ == sys.argv[1], fewknots.__version__
assert importlib.resources.files("fewknots").joinpath("py.typed").is_file()
X = np.random.default_rng(0).normal(size=(200, 2))
y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
classifier = GPClassifier(n_inducing=20, random_state=0).fit(X, y)
classifier.save("model.fewknots")
loaded = load("model.fewknots")
assert np.array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
print("score on the rows of the fit:", loaded.score(X, y))
assert loaded.score(X, y) > 0.9
"""


def write_table(path: Path) -> None:
    """A table as users have them: a number, a category and gaps."""
    draw = random.Random(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "colour", "bought"])
        for _ in range(300):
            age, colour = draw.uniform(18, 80), draw.choice(["red", "green", "blue"])
            bought = (age > 50) != (colour == "red")
            writer.writerow(["" if draw.random() < 0.05 else f"{age:.1f}", colour, bought])


def use(folder: Path, wheel: Path, constraints: list[str]) -> None:
    """All of it; a command that fails ends this one."""
    venv.create(folder / "env", with_pip=True)
    bin_folder = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    here = folder / "empty"
    here.mkdir()
    # Nothing of the caller's: neither its sources nor its settings.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FEWKNOTS"))}

    def run(command: str, *arguments: object, fails: bool = False) -> str:
        shown = [command, *map(str, arguments)]
        print("$", *(part if "\n" not in part else "..." for part in shown), flush=True)
        done = subprocess.run(
            [bin_folder / command, *shown[1:]],
            cwd=here,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        print(done.stdout, flush=True)
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{command} ended with {done.returncode}.")
        return done.stdout

    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *constraints)
    run("python", *pip, wheel)
    run("python", "-c", _IN_PYTHON, wheel.name.split("-")[1])
    assert "pip install 'fewknots[cli]'" in run("fewknots", "--version", fails=True)
    run("python", *pip, f"{wheel}[paper]")
    command_line(run, here)


def command_line(run: Callable[..., str], here: Path) -> None:
    """From a table to a report, and what needs the extra `paper`."""
    write_table(here / "table.csv")
    run("fewknots", "fit", "table.csv", "--target", "bought", "--out", "table.fewknots")
    run("fewknots", "inspect", "table.fewknots")
    run("fewknots", "predict", "table.fewknots", "table.csv", "--out", "scored.csv")
    assert len((here / "scored.csv").read_text().splitlines()) == 301
    run("fewknots", "evaluate", "table.fewknots")
    run("fewknots", "report", "table.fewknots", "--out", "report.html")
    assert "<svg" in (here / "report.html").read_text(encoding="utf-8")
    run("fewknots", "reproduce", "--list")
    run("python", "-m", "fewknots.demo", "--out", "banana.png")
    assert (here / "banana.png").read_bytes().startswith(b"\x89PNG")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("-c", "--constraints", type=Path, help="the versions to install")
    options = parser.parse_args()
    pinned = [] if options.constraints is None else ["-c", str(options.constraints.resolve())]
    with tempfile.TemporaryDirectory(prefix="fewknots-wheel-") as folder:
        use(Path(folder), options.wheel.resolve(), pinned)
    print("The wheel works.")


if __name__ == "__main__":
    main()
