"""The ten folds of Table 1: IDA's splits, or ten-fold cross-validation."""

import numpy as np
from sklearn.model_selection import KFold

from ..datasets import Dataset, Split
from .experiment import Choice

FOLDS = 10
SPLITS = Choice(
    "splits",
    ("ida", "folds"),
    "Ten splits of IDA's sizes, as in the paper, or ten-fold cross-validation.",
)


def ten_splits(dataset: Dataset, kind: str, seed: int) -> tuple[Split, ...]:
    """Rows to learn from and to test on, ten times; `seed` decides the order of the rows."""
    if kind == "ida":
        return dataset.splits[:FOLDS]
    folds = KFold(FOLDS, shuffle=True, random_state=seed).split(dataset.X)
    return tuple(Split(train, test) for train, test in folds)


def number_of_points(dataset: Dataset, splits: tuple[Split, ...], points: int | float) -> int:
    """How many inducing points a column of the table means: the same number in every fold.

    Never more than there are distinct rows: flare_solar's 666 are copies of about 80.
    """
    rows = min(len(train) for train, _ in splits)
    wanted = round(points * rows) if isinstance(points, float) else points
    return min(wanted, *(len(np.unique(dataset.X[train], axis=0)) for train, _ in splits))
