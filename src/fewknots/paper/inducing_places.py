"""Where inducing points end up: in how many places, how far from the boundary, how near the centre.

Two points closer than a small share of a lengthscale carry the same information: the correlation
of f between them is almost one. Points are merged into one *place* when a chain of such close
neighbours leads from one to the other; points have collapsed when far fewer places than points
are left.
"""

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform

CLOSE = 0.1  # lengthscales: an RBF kernel's correlation is then 0.995
NEAR_CENTRE = 0.25  # standard deviations of the inputs
COLLAPSED = 0.75  # or less of the points' number: places left


def distinct_places(points: np.ndarray, lengthscale: np.ndarray) -> int:
    """The number of different places of `points`, in the units of `lengthscale`."""
    distances = squareform(pdist(points / lengthscale))
    return int(connected_components(distances < CLOSE)[0])


def distance_to_boundary(points: np.ndarray, lengthscale: np.ndarray, surface: Any) -> float:
    """The median distance, in lengthscales, from a point to where the probability is a half.

    surface : (across, up, probabilities on their grid).
    """
    boundary = boundary_points(*map(np.asarray, surface))
    if len(boundary) == 0:
        return float("nan")
    return float(np.median(cdist(points / lengthscale, boundary / lengthscale).min(axis=1)))


def boundary_points(across: np.ndarray, up: np.ndarray, surface: np.ndarray) -> np.ndarray:
    """Where neighbours on the grid are on different sides of a half, the middle between them."""
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    side = surface > 0.5
    right, above = side[:, 1:] != side[:, :-1], side[1:] != side[:-1]
    between = (grid[:, 1:] + grid[:, :-1])[right] / 2, (grid[1:] + grid[:-1])[above] / 2
    return np.concatenate(between)


def number_near_centre(points: np.ndarray, X: np.ndarray) -> int:
    """How many points lie close to the mean of the inputs X."""
    standardised = (points - X.mean(axis=0)) / X.std(axis=0)
    return int(np.sum(np.linalg.norm(standardised, axis=1) < NEAR_CENTRE))
