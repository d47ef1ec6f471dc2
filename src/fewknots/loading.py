"""Models out of files: the one place that knows all of them."""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any

from .estimators import saved_model
from .extras import missing
from .files import model_format
from .files.container import Arrays, Header
from .files.header_values import KnownClasses, known_classes
from .kernels import Kernel
from .likelihoods import Likelihood


def load(
    path: str | PathLike[str],
    *,
    kernels: Sequence[type[Kernel]] = (),
    likelihoods: Sequence[type[Likelihood]] = (),
) -> Any:
    """Read a fitted `GPClassifier`, `GPRegressor` or `TableModel` that its `save` wrote.

    kernels, likelihoods : the classes in the file that are not fewknots' own: a file holds names
        and numbers, and no code.

    Nothing in the file is executed. A file that is cut off, changed, foreign or of a newer format
    raises `fewknots.ModelFileError`.
    """
    return model_format.read(path, partial(_model, known=known_classes(kernels, likelihoods)))


def _model(header: Header, arrays: Arrays, known: KnownClasses) -> Any:
    """The model that header and arrays hold: an estimator, or a table's model around one."""
    if "table" not in header:
        return saved_model.restored(header, arrays, known)
    try:
        from .tables.model import TableModel  # here: tables need pyarrow
    except ImportError as error:
        what = "this model takes tables, which needs pyarrow"
        raise ImportError(missing(what, "stream")) from error
    return TableModel.restored(header, arrays, known)
