"""What a fit of few rows gains in its last iterations: when it may end, chosen on CHOSEN_ON alone.

    python benchmarks/last_gains.py FOLDER_OF_SETS [--sets banana ...] [--splits 2]

Each fit is repeated, ending when ten iterations gain less than so many nats in all. Printed are the
iterations, and by how much evidence and test NLP (up to 2000 rows) differ from those of the first.
"""

import argparse
from pathlib import Path

import numpy as np

from fewknots import GPClassifier
from tables_data import CHOSEN_ON, as_numbers, load

SIZES = {"banana": 400, "diabetes": 470, "german": 700, "contraceptive": 500, "segment": 500}
GAINS = (0.005, 0.02, 0.05)  # nats; 0.005 is the rule for 500 rows


def fitted(X, y, X_test, y_test, gain: float) -> tuple[int, float, float]:
    """Iterations, evidence, NLP."""
    model = GPClassifier(random_state=0, tol=gain / len(X)).fit(X, y)
    log_p = model.predict_log_proba(X_test)
    return model.n_iter_, model.log_evidence_, -np.mean(log_p[np.arange(len(y_test)), y_test])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    assert set(SIZES) <= set(CHOSEN_ON)
    print("| set | split | iterations | evidence | NLP |\n|---|---|---|---|---|")
    for name in options.sets:
        X, y = load(name, options.data)
        X, y = as_numbers(X)[0], np.unique(y, return_inverse=True)[1]
        for split in range(options.splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[: SIZES[name]], order[SIZES[name] :][:2000]
            found = [fitted(X[train], y[train], X[test], y[test], gain) for gain in GAINS]
            iterations, evidence, nlp = zip(*found, strict=True)
            columns = (
                " ".join(map(str, iterations)),
                " ".join(
                    [f"{evidence[0]:.3f}", *(f"{e - evidence[0]:+.3f}" for e in evidence[1:])]
                ),
                " ".join([f"{nlp[0]:.4f}", *(f"{n - nlp[0]:+.5f}" for n in nlp[1:])]),
            )
            print(f"| {name} | {split} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
