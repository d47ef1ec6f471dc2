"""How scikit-learn's functions that download data fail, in this package's terms."""

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from .dataset import SourceError

RETRIES = {"n_retries": 1, "delay": 1.0}  # one more attempt, a second later
# That attempt is no news; its warnings about the data themselves are, and pass.
_NO_NEWS = ("A network error occurred", "Retry downloading", "Invalid cache, redownloading")


@contextmanager
def fetching() -> Iterator[None]:
    """Failures inside become `SourceError`: no connection, an answer cut off, a wrong checksum."""
    try:
        with warnings.catch_warnings():
            for message in _NO_NEWS:
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
