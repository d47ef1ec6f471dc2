"""What classes cost: seconds a step, of a prediction, and memory, for 3, 10, 30 and 100 of them.

    python benchmarks/growth.py [--classes 3 10 30 100] [--inducing 200] [--out growth.png]

Rows are generated: 20,000 of four inputs, whose class is the nearest of C centres, but for noise.
Each number of classes is fitted in a process of its own by minibatches with natural gradients, so
that the most memory the process has held is that of this fit (of a GPU: of its own memory).
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np


def measured(n_classes, n_inducing):
    import jax

    from fewknots import GPClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    centres = rng.normal(size=(n_classes, 4))
    noisy = X + 0.2 * rng.normal(size=X.shape)
    y = np.argmin(np.square(noisy[:, None] - centres).sum(axis=2), axis=1)
    clf = GPClassifier(
        "rbf",
        warp=None,
        method="sparse_kl",
        optimizer="natural_gradient",
        n_inducing=n_inducing,
        random_state=0,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    moments = []
    clf.set_params(callback=lambda p: moments.append((p.iteration, p.seconds)), max_time=20.0)
    clf.fit(X, y)
    (first, at_first), (last, at_last) = moments[0], moments[-1]
    clf.predict_proba(X)
    started = time.perf_counter()
    clf.predict_proba(X)
    predicting = time.perf_counter() - started
    stats = jax.local_devices()[0].memory_stats() or {}
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "device": jax.default_backend(),
        "step": (at_last - at_first) / (last - first),
        "predict": predicting,
        "memory": stats.get("peak_bytes_in_use", 1024 * (after - before)) / 2**20,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, nargs="+", default=[3, 10, 30, 100])
    parser.add_argument("--inducing", type=int, default=200)
    parser.add_argument("--out")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measured(options.worker, options.inducing)))
        return
    print("| classes | device | ms a step | predict 20,000 rows, s | memory, MB |")
    print("|---|---|---|---|---|", flush=True)
    found = []
    for count in options.classes:
        more = ["--worker", str(count), "--inducing", str(options.inducing)]
        done = subprocess.run([sys.executable, __file__, *more], stdout=subprocess.PIPE, check=True)
        one = json.loads(done.stdout.splitlines()[-1])
        found.append(one)
        numbers = f"{1e3 * one['step']:.1f} | {one['predict']:.2f} | {one['memory']:.0f}"
        print(f"| {count} | {one['device']} | {numbers} |", flush=True)
    if options.out:
        draw(options.classes, found, options.out)


def draw(classes, found, path):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    names = {"step": "seconds a step", "memory": "memory, MB"}
    for axes, (key, name) in zip(panels, names.items(), strict=True):
        values = [one[key] for one in found]
        axes.loglog(classes, values, "o-")
        axes.loglog(classes, np.asarray(classes) * values[-1] / classes[-1], "k:", lw=1)
        axes.set_xlabel("classes (dotted: in proportion)")
        axes.set_ylabel(name)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
