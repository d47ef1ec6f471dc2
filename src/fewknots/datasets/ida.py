"""The common properties of the sets of IDA's benchmark collection (Rätsch et al.): scaled inputs,
split sizes.

IDA published a hundred random splits of each set (twenty of some) into training and test rows of
fixed numbers. For rows from other sources, which do not have these splits, splits of the same sizes
are drawn.
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
    """Scale columns to mean zero and variance one, as in most of IDA's sets."""
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def drawn_splits(name: str, n_rows: int) -> tuple[Split, ...]:
    """Ten random splits, the same in each call; all rows that are not for training are for test."""

    def drawn(number: int) -> Split:
        order = np.random.default_rng([_SEED, number]).permutation(n_rows)
        return Split(np.sort(order[: TRAINING_ROWS[name]]), np.sort(order[TRAINING_ROWS[name] :]))

    return tuple(drawn(number) for number in range(_N_SPLITS))


def drawn_remark(name: str) -> str:
    """The text about such splits in `Dataset.source`."""
    return (
        f"IDA's published splits are missing, so {_N_SPLITS} were drawn with IDA's sizes "
        f"({TRAINING_ROWS[name]} rows to learn from; split k by numpy's default_rng([{_SEED}, k]))"
    )
