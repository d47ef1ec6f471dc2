"""Saving and loading of all kinds of models."""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any

from sklearn.pipeline import Pipeline

from . import pipelines
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
    """Read a fitted `GPClassifier`, `GPRegressor`, `TableModel` or pipeline that `save` wrote.

    kernels, likelihoods : your own kernel and likelihood classes that the model uses: a file
        contains names and numbers, but no code.

    Nothing in the file is executed. A file that is truncated, damaged, of another kind or of a
    newer format raises `fewknots.ModelFileError`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, load
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> clf.save("moons.fewknots")
    >>> again = load("moons.fewknots")
    >>> bool((again.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    return model_format.read(path, partial(_model, known=known_classes(kernels, likelihoods)))


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write any fitted model to one file; `load` reads it back, bit for bit.

    model : a `GPClassifier`, `GPRegressor` or `TableModel`, or a pipeline of
        `fewknots.images.Scattering` and one of the first two.

    Examples
    --------
    >>> import fewknots
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> images = fewknots.images.Scattering(shape=(8, 8), J=1, n_components=10)
    >>> model = make_pipeline(images, fewknots.GPClassifier("rbf", n_inducing=5, warp=None))
    >>> fewknots.save(model.fit(X[:100], y[:100]), "digits.fewknots")
    >>> fewknots.load("digits.fewknots").predict(X[:3])
    array([0, 1, 0])
    """
    if isinstance(model, Pipeline):
        pipelines.save(model, path)
    elif hasattr(model, "save"):
        model.save(path)
    else:
        raise TypeError(f"a {type(model).__name__} is not a model of fewknots.")


def _model(header: Header, arrays: Arrays, known: KnownClasses) -> Any:
    """The model from header and arrays: an estimator, or a table model or pipeline with one."""
    if "pipeline" in header:
        return pipelines.restored(header, arrays, known)
    if "table" not in header:
        return saved_model.restored(header, arrays, known)
    try:
        from .tables.model import TableModel  # imported here: tables need pyarrow
    except ImportError as error:
        what = "this model takes tables, which needs pyarrow"
        raise ImportError(missing(what, "stream")) from error
    return TableModel.restored(header, arrays, known)
