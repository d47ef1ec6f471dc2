"""Where the inducing points of a fit start."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .. import inducing
from ..data.standardise import Standardiser
from ..exceptions import InputWarning, warn
from ..kernels import Kernel
from .stored_rows import check_points_are_no_rows

_FEW_ROWS = 20_000


def starting_points(
    inducing_points: Any,
    n_inducing: Any,
    method: str,
    standardiser: Standardiser,
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    weights: Float[np.ndarray, " N"],
    rng: np.random.RandomState,
    n_rows: int | None = None,
    on_rows: bool = True,
) -> Float[np.ndarray, "M D"]:
    """Where the inducing points start: the user's, brought to X's units, or chosen from X.

    n_rows : how many rows there are if X is only a sample of them.
    on_rows : whether they may be rows of X.
    """
    if inducing_points is not None:
        Z = np.asarray(inducing_points, np.float64)
        if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
            raise ValueError(
                f"inducing_points must have shape (M, {X.shape[1]}), one column per feature of X, "
                f"got {Z.shape}."
            )
        if not np.all(np.isfinite(Z)):
            raise ValueError("inducing_points holds NaN or infinity.")
        Z = standardiser(Z)
        if not on_rows:
            check_points_are_no_rows(Z, X)
        return Z
    # Among many rows there are enough distinct ones, and sorting them would take long.
    whole = len(X) if n_rows is None else n_rows
    distinct = np.unique(X, axis=0) if whole <= _FEW_ROWS else X
    if n_inducing == "auto":
        rows = len(distinct) if n_rows is None else n_rows
        count = min(inducing.automatic_count(rows), len(distinct))
    else:
        count = int(n_inducing)
        if count > len(distinct):
            warn(
                f"n_inducing={count} is more than the {len(distinct)} distinct rows of X; "
                f"using {len(distinct)}.",
                InputWarning,
            )
            count = len(distinct)
    if count == len(distinct):
        chosen = distinct
    else:
        chosen = inducing.choose(method, kernel, X, weights, count, rng)
    return chosen if on_rows else inducing.displaced(chosen, X, rng)
