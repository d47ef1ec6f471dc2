"""The report: one HTML file about a classifier, scored on rows it was not fitted to."""

from .page import write_report

__all__ = ["write_report"]
