"""Errors and warnings with names of their own, and how a warning is given."""

import sys
import warnings
from types import FrameType

import numpy as np

# Whose lines no warning of ours points at: fits go through them on the way from the user's.
_BETWEEN = ("fewknots", "sklearn", "joblib", "jaxtyping")


class NumericalError(np.linalg.LinAlgError):
    """A fit cannot go on: the message says which quantity broke and what to try."""


class ModelFileError(ValueError):
    """A model file cannot be read: the message says what is wrong with it."""


class DataError(ValueError):
    """A table cannot be used: the message says what is wrong with it, and in which row."""


class DatasetError(LookupError):
    """A named data set cannot be had: what was tried, why it failed, which file to put where."""


class CheckpointError(ValueError):
    """A run cannot be taken up again from its folder: the message says why."""


class ClusterError(RuntimeError):
    """A Dask cluster cannot do the work: the message says why, and how to go on."""


class ClusterWarning(UserWarning):
    """A fit on a cluster goes on, but not as it should: the message says what holds it up."""


class ForkError(RuntimeError):
    """JAX cannot compute in a forked process: the message says how to start one where it can."""


class NumericalWarning(UserWarning):
    """A fit went on after a repair: the message says which."""


class InputWarning(UserWarning):
    """The input was usable but is probably not what was meant: the message says why."""


class CheckpointWarning(UserWarning):
    """A checkpoint was passed over: the message says which and why."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted and ended with what it had: the message says when."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line of the user that led here, however many of ours lie between."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _module(frame).partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        _module(frame),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
