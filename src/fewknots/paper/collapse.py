"""Do inducing points collapse: how many different places do they still have?

Two points closer than a small share of a lengthscale carry the same information: the correlation
of f between them is almost one. Points are merged into one place when a chain of such close
neighbours leads from one to the other; what counts is the number of places left.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

CLOSE = 0.1  # lengthscales: an RBF kernel's correlation is then 0.995


def distinct_places(points: np.ndarray, lengthscale: np.ndarray) -> int:
    """The number of different places of `points`, both in the same units."""
    distances = squareform(pdist(points / lengthscale))
    return int(connected_components(distances < CLOSE)[0])
