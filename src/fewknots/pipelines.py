"""Saving a pipeline of `images.Scattering` and an estimator in one file, like any other model.

The file has the estimator's header and arrays, as saved_model.py writes them, and those of the
transformer. An older fewknots that does not know pipelines finds no estimator in it.
"""

from functools import partial
from os import PathLike
from typing import Any

from sklearn.pipeline import Pipeline

from .estimators import GPClassifier, GPRegressor, saved_model
from .exceptions import ModelFileError
from .files import model_format
from .files.container import Arrays, Header, shown
from .files.header_values import KnownClasses
from .images import saved as saved_images
from .images.steps import steps_of


def save(pipeline: Pipeline, path: str | PathLike[str]) -> None:
    """Write a fitted pipeline to one file."""
    images, estimator = steps_of(pipeline)
    if not isinstance(estimator, GPClassifier | GPRegressor):
        raise TypeError(
            f"the last step is a {type(estimator).__name__}: files hold GPClassifier and "
            "GPRegressor."
        )
    header, arrays = saved_images.contents(images)
    own, more = saved_model.contents(estimator)
    names = [name for name, _ in pipeline.steps]
    whole = {"pipeline": {"names": names, "images": header, "estimator": own}}
    restore = partial(restored, known=saved_model.classes_of(estimator))
    model_format.write(path, Pipeline, whole, arrays | more, restore)


def restored(header: Header, arrays: Arrays, known: KnownClasses) -> Pipeline:
    """The pipeline from header and arrays, all of which are checked."""
    saved: Any = header["pipeline"]
    names = saved["names"]
    are_texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not are_texts or len(set(names)) != 2 or any("__" in name or not name for name in names):
        raise ModelFileError(f"the names of its steps are {shown(names)}.")
    images = saved_images.restored(saved["images"], arrays)
    own = {"format": header["format"], **saved["estimator"]}
    estimator = saved_model.restored(own, arrays, known)
    found, wanted = estimator.n_features_in_, len(images.get_feature_names_out())
    if found != wanted:
        raise ModelFileError(
            f"its images become {wanted} numbers, and its estimator takes {found}."
        )
    return Pipeline(list(zip(names, (images, estimator), strict=True)))
