"""Distance of rows from the inducing points."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import NearestNeighbors

from ..kernels import scale_of_inputs
from .unnamed_rows import check_kind


def distance_to_points(classifier: Any, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    """Distance from each row to the nearest inducing point, in lengthscales of the kernel.

    (Without inducing points: to the nearest training row. For a kernel without a lengthscale: in
    standard deviations of the inputs. Inputs that the kernel does not use do not count.) For a row
    that is a lengthscale or two away from every point, the model has little more than its prior.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> explain.distance_to_points(clf, X[:3]).shape
    (3,)
    """
    if not hasattr(classifier, "kernel_"):
        check_kind(classifier, classifier=False)
    kernel = classifier.kernel_
    points = np.asarray(classifier.posterior_.points, np.float64)  # standardised already
    scale = scale_of_inputs(kernel, points.shape[1], elsewhere=np.inf)
    scale = np.asarray(1.0 if scale is None else scale, np.float64)
    standardise = classifier._standardiser
    nearest = NearestNeighbors(n_neighbors=1).fit(np.asarray(kernel.coordinates(points)) / scale)
    return nearest.kneighbors(np.asarray(kernel.coordinates(standardise(X))) / scale)[0][:, 0]
