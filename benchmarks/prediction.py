"""Prediction: rows a second at M = 500 beside GPyTorch, and how much of the machine that uses.

    python benchmarks/prediction.py --data FOLDER [--inducing 500]

FOLDER holds airline_8feature.parquet (flights.py says which task). Both libraries train for a few
seconds and then predict the 100,000 held-out flights, warm, best of three. The machine's rate is
that of a float32 product of two 4096 x 4096 matrices by the same JAX.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import flights
import race
from fewknots import GPClassifier


def best_of(count: int, function) -> float:
    function()
    times = []
    for _ in range(count):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def product_rate(size: int = 4096) -> float:
    """Flops a second of a float32 product."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    with jax.default_matmul_precision("highest"):
        product = jax.jit(lambda a: a @ a)
        return 2.0 * size**3 / best_of(3, lambda: product(a).block_until_ready())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--inducing", type=int, default=500)
    parser.add_argument("--peer-seconds", type=float, default=5.0)
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where airline_8feature.parquet is: --data FOLDER, or FEWKNOTS_DATA")
    task = flights.load(Path(options.data))
    rate = product_rate()
    print(f"a float32 product runs at {rate / 1e9:,.0f} GFLOP/s on {jax.devices()[0].device_kind}")
    marks = []
    clf = GPClassifier(
        task.kernel,
        warp=None,
        n_inducing=options.inducing,
        max_iter=400,
        random_state=0,
        callback=marks.append,
    ).fit(task.X, task.y)
    M, D = clf.inducing_points_.shape
    # four products of the batch with M x M matrices, those among M x M matrices, the kernel
    batch = (
        (marks[-1].passes - marks[-2].passes)
        * len(task.y)
        / (marks[-1].iteration - marks[-2].iteration)
    )
    trained = max(m.rows_per_second for m in marks[1:])
    step_flops = 8 * batch * M**2 + 12 * M**3 + 6 * batch * M * D
    share = trained / batch * step_flops / rate
    print(f"training:   {trained:>12,.0f} rows/s, batches of {batch:.0f}, {share:.0%} of that rate")
    seconds = best_of(3, lambda: clf.predict_proba(task.X_test))
    predicted = len(task.y_test) / seconds
    share = predicted * (2 * M**2 + 3 * M * D) / rate
    print(f"prediction: {predicted:>12,.0f} rows/s, {share:.0%} of that rate")
    result = race.gpytorch(task, clf, options.peer_seconds, 0.1)
    peer = result["predict_rows_per_second"]
    print(f"GPyTorch predicts {peer:,.0f} rows/s, trains {result['train_rows_per_second']:,.0f}")
    print(
        f"ratios: prediction {predicted / peer:.1f}, training "
        f"{trained / result['train_rows_per_second']:.1f}"
    )


if __name__ == "__main__":
    main()
