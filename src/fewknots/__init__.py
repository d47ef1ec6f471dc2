"""Gaussian process classification with a few inducing points.

Hensman, Matthews & Ghahramani, "Scalable Variational Gaussian Process Classification", 2015.

The names below are imported when they are first asked for: `fewknots --help` and shell completion
must not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .numerics import forks as forks
from .numerics.collector import collector_held
from .version import __version__

if TYPE_CHECKING:
    from . import images as images
    from . import kernels as kernels
    from .estimators import GPClassifier, GPRegressor
    from .exceptions import (
        CheckpointError,
        CheckpointWarning,
        DataError,
        DatasetError,
        ForkError,
        InputWarning,
        InterruptedFitWarning,
        ModelFileError,
        NumericalError,
        NumericalWarning,
    )
    from .loading import load, save
    from .progress import Progress
    from .tables.model import TableModel

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "DataError",
    "DatasetError",
    "ForkError",
    "GPClassifier",
    "GPRegressor",
    "InputWarning",
    "InterruptedFitWarning",
    "ModelFileError",
    "NumericalError",
    "NumericalWarning",
    "Progress",
    "TableModel",
    "__version__",
    "load",
    "save",
]

_HOMES = {
    "GPClassifier": "estimators",
    "GPRegressor": "estimators",
    "Progress": "progress",
    "TableModel": "tables.model",
    "load": "loading",
    "save": "loading",
}


def __getattr__(name: str) -> Any:
    if name in ("kernels", "images"):  # what users need most
        with collector_held():
            return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with collector_held():
        home = import_module(f".{_HOMES.get(name, 'exceptions')}", __name__)
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
