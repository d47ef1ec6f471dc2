"""The errors and warnings of fewknots, and the function that gives a warning."""

import sys
import warnings
from types import FrameType

import numpy as np

# A warning never points at lines of these packages: it points at the user's line.
_BETWEEN = ("fewknots", "sklearn", "joblib", "jaxtyping")


class NumericalError(np.linalg.LinAlgError):
    """A fit cannot continue: the message says which quantity failed and what to try."""


class ModelFileError(ValueError):
    """A model file cannot be read: the message says what is wrong with it."""


class DataError(ValueError):
    """A table cannot be used: the message says what is wrong with it, and in which row."""


class DatasetError(LookupError):
    """A data set cannot be loaded: the message says what was tried, why it failed, and which file
    to put where.
    """


class CheckpointError(ValueError):
    """A run cannot be resumed from its folder: the message says why."""


class ClusterError(RuntimeError):
    """A Dask cluster cannot do the work: the message says why, and what to do."""


class ClusterWarning(UserWarning):
    """A fit on a cluster continues with a problem: the message says which."""


class ForkError(RuntimeError):
    """JAX cannot compute in a forked process: the message says how to start a process that
    works.
    """


class NumericalWarning(UserWarning):
    """A fit continued after a numerical repair: the message says which."""


class InputWarning(UserWarning):
    """The input can be used but is probably not what you meant: the message says why."""


class CheckpointWarning(UserWarning):
    """A checkpoint was skipped: the message says which and why."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted and ended with the model so far: the message says when."""


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning that points at the user's line, not at one inside fewknots."""
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
