"""Equal rows become one row with their summed weight.

The bound sees a row twice exactly as it sees it once with weight 2, so nothing changes but the
cost: a table of coarse measurements is often a few hundred distinct rows (flare_solar: 144 of
1066). Rows also come out in one order however they went in, so a fit does not depend on theirs.
"""

import numpy as np
from jaxtyping import Float, Real


def merge_equal_rows(
    X: Float[np.ndarray, "N D"], y: Real[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "R D"], Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
    """The distinct (x, y) pairs, sorted, each with its total weight; weightless rows go."""
    present = weights > 0
    table = np.column_stack([X[present], y[present]])
    order = np.lexsort(table.T)
    table, weights = table[order], weights[present][order]
    starts = np.flatnonzero(np.append(True, np.any(table[1:] != table[:-1], axis=1)))
    return table[starts, :-1], table[starts, -1], np.add.reduceat(weights, starts)
