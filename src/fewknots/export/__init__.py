"""Models as ONNX files, for programs without fewknots, JAX or Python."""

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import missing

if TYPE_CHECKING:
    from ..tables.recipe import Recipe

_DTYPES = ("float32", "float64")


def to_onnx(
    classifier: Any,
    path: str | PathLike[str],
    *,
    dtype: str = "float32",
    recipe: "Recipe | None" = None,
) -> None:
    """Write a fitted classifier as an ONNX file, atomically.

    classifier : a `GPClassifier`, or a pipeline of `images.Scattering` and one. The input of that
        graph, "X", has a flat row for each image: height, width, channels.
    dtype : "float32" (half the size, and faster) or "float64".
    recipe : converts the columns of a table to the classifier's inputs. Without a recipe the graph
        has a single input, the matrix "X"; with one it has an input for each column, with its name.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    from ..images.steps import steps_of

    images = None
    if isinstance(classifier, Pipeline):
        images, classifier = steps_of(classifier)
    check_is_fitted(classifier)
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
    try:
        from .classifier import write
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ImportError(missing("ONNX files are made with onnx", "onnx")) from error
    write(classifier, path, np.dtype(dtype), recipe, images)
