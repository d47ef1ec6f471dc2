"""The scikit-learn estimators."""

from .classifier import GPClassifier
from .regressor import GPRegressor

__all__ = ["GPClassifier", "GPRegressor"]
