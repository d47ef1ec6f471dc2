"""The scikit-learn estimators."""

from .classifier import GPClassifier

__all__ = ["GPClassifier"]
