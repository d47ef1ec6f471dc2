"""How the cost of training grows: seconds a pass against rows, inducing points and batch size.

    python benchmarks/scaling.py [--out scaling.png]

Eight inputs, generated rows in memory. Each figure is the rate of a fit's best chunk of steps,
compilation left out; the exponents are slopes of straight lines through logarithms.
"""

import argparse
from pathlib import Path

import numpy as np

from fewknots import GPClassifier

ROWS = [30_000, 100_000, 300_000, 1_000_000]
INDUCING = [50, 100, 200, 400, 800]
BATCH = [128, 512, 2048, 8192]


def rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 8))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=count) > 0


def seconds_a_pass(n_rows: int = 100_000, inducing: int = 200, batch: int = 1024) -> float:
    marks = []
    GPClassifier(
        "rbf",
        warp=None,
        n_inducing=inducing,
        inducing_init="random",
        batch_size=batch,
        optimizer="natural_gradient",
        max_iter=400,
        max_time=15.0,
        tol=0.0,
        random_state=0,
        callback=marks.append,
    ).fit(*rows(n_rows))
    rate = max(mark.rows_per_second for mark in marks[1:])
    found = n_rows / rate
    step = 1e3 * batch / rate
    print(
        f"N={n_rows:<9} M={inducing:<5} B={batch:<6} {found:8.2f} s a pass {step:8.2f} ms a step",
        flush=True,
    )
    return found


def slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("scaling.png"))
    options = parser.parse_args()
    series = {
        "rows N": (ROWS, [seconds_a_pass(n_rows=n) for n in ROWS]),
        "inducing points M": (INDUCING, [seconds_a_pass(inducing=m) for m in INDUCING]),
        "batch size B": (BATCH, [seconds_a_pass(batch=b) for b in BATCH]),
    }
    import matplotlib
    import matplotlib.ticker

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for axis, (name, (x, y)) in zip(axes, series.items(), strict=True):
        axis.loglog(x, y, "o-")
        axis.set_xlabel(name)
        axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axis.set_title(f"exponent {slope(x, y):.2f}, last two points {slope(x[-2:], y[-2:]):.2f}")
        print(f"{name}: exponent {slope(x, y):.2f}; last two points {slope(x[-2:], y[-2:]):.2f}")
    axes[0].set_ylabel("seconds a pass")
    figure.savefig(options.out, dpi=120)
    print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
