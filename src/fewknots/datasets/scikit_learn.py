"""Turns the failures of scikit-learn's download functions into `SourceError`."""

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from .dataset import SourceError

RETRIES = {"n_retries": 1, "delay": 1.0}  # one more attempt, a second later
# Warnings about this second attempt are hidden; warnings about the data are not.
_HIDDEN_WARNINGS = ("A network error occurred", "Retry downloading", "Invalid cache, redownloading")


@contextmanager
def fetching() -> Iterator[None]:
    """Failures in the block become `SourceError`: no connection, missing data, wrong checksum."""
    try:
        with warnings.catch_warnings():
            for message in _HIDDEN_WARNINGS:
                warnings.filterwarnings("ignore", message)
            yield
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        ImportError,
        HTTPException,
        zlib.error,
    ) as error:
        raise SourceError(f"{type(error).__name__}: {error}") from error
