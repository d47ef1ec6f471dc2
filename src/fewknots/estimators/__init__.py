"""The scikit-learn estimators."""

from .classifier import GPClassifier
from .regressor import GPRegressor
from .saved_model import loadable

loadable(GPClassifier, GPRegressor)

__all__ = ["GPClassifier", "GPRegressor"]
