"""Gaussian process classification held by a few inducing points.

Hensman, Matthews & Ghahramani, "Scalable Variational Gaussian Process Classification", 2015.
"""

from .estimators import GPClassifier, GPRegressor
from .exceptions import (
    CheckpointError,
    CheckpointWarning,
    DataError,
    DatasetError,
    InputWarning,
    InterruptedFitWarning,
    ModelFileError,
    NumericalError,
    NumericalWarning,
)
from .model_file import load
from .progress import Progress

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "DataError",
    "DatasetError",
    "GPClassifier",
    "GPRegressor",
    "InputWarning",
    "InterruptedFitWarning",
    "ModelFileError",
    "NumericalError",
    "NumericalWarning",
    "Progress",
    "__version__",
    "load",
]
