"""What IDA's benchmark collection (Rätsch et al.) has in common: scaled inputs, sizes of splits.

IDA published a hundred realisations of each set (twenty of some): the same rows, split anew at
random into training and test rows of fixed numbers. Where rows come from elsewhere, without these
splits, others of the same sizes are drawn.
"""

import numpy as np

from .dataset import Split

TRAINING_ROWS = {
    "banana": 400,
    "breast_cancer": 200,
    "diabetes": 468,
    "flare_solar": 666,
    "german": 700,
    "heart": 170,
    "image": 1300,
    "ringnorm": 400,
    "thyroid": 140,
    "twonorm": 400,
    "waveform": 400,
}
_N_SPLITS = 10  # the paper reports ten folds
_SEED = 0


def scaled(X: np.ndarray) -> np.ndarray:
    """Columns of mean zero and variance one, as IDA publishes most of its sets."""
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def drawn_splits(name: str, n_rows: int) -> tuple[Split, ...]:
    """Ten random splits, the same ones every time; rows beyond IDA's training rows are tested."""

    def drawn(number: int) -> Split:
        order = np.random.default_rng([_SEED, number]).permutation(n_rows)
        return Split(np.sort(order[: TRAINING_ROWS[name]]), np.sort(order[TRAINING_ROWS[name] :]))

    return tuple(drawn(number) for number in range(_N_SPLITS))


def drawn_remark(name: str) -> str:
    """What `Dataset.source` says of such splits."""
    return (
        f"IDA's published splits are missing, so {_N_SPLITS} were drawn with IDA's sizes "
        f"({TRAINING_ROWS[name]} rows to learn from; split k by numpy's default_rng([{_SEED}, k]))"
    )
