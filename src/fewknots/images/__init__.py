"""Images as rows of numbers that a classifier can use as they are."""

from .scattering import Scattering

__all__ = ["Scattering"]
