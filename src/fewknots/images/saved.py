"""Writing a fitted `Scattering` to a model file, and reading it back.

Nothing in a file is trusted: arguments are checked as `fit` checks them, sizes follow from them,
and arrays have those sizes.
"""

from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from ..files.container import Arrays, Header, shown
from ..files.header_values import decode_arguments, encode_arguments, known_classes
from ..files.model_format import checked_array
from .coefficients import path_names, places
from .scattering import Scattering

_PREFIX = "scattering."
_LARGEST_IMAGE = 2**26


def contents(scattering: Scattering) -> tuple[Header, Arrays]:
    """Header and arrays of a fitted transformer."""
    names = getattr(scattering, "feature_names_in_", None)
    header = {
        "arguments": encode_arguments(scattering.get_params(deep=False)),
        "image_shape": [int(n) for n in scattering.image_shape_],
        "feature_names": None if names is None else [str(name) for name in names],
    }
    arrays = {
        "floor": scattering.floor_,
        "mean": scattering.mean_,
        "components": scattering.components_,
        "variances": scattering.explained_variance_,
    }
    return header, {f"{_PREFIX}{k}": v for k, v in arrays.items() if v is not None}


def restored(header: Any, arrays: Arrays) -> Scattering:
    """The transformer from header and arrays."""
    arguments = decode_arguments(header["arguments"], known_classes())
    if isinstance(arguments.get("shape"), np.ndarray):  # a tuple is a list in a file
        arguments["shape"] = tuple(arguments["shape"].tolist())
    scattering = Scattering(**arguments)
    shape = header["image_shape"]
    is_shape = isinstance(shape, list) and len(shape) == 3
    if not is_shape or not all(type(n) is int and 0 < n <= _LARGEST_IMAGE for n in shape):
        raise ModelFileError(f"its images are {shown(shape)}.")
    scattering._check_arguments()
    scattering._check_scale(tuple(shape))
    height, width, channels = scattering.image_shape_ = tuple(shape)
    scattering.n_features_in_ = height * width * channels
    if scattering.n_features_in_ > _LARGEST_IMAGE:
        raise ModelFileError(f"its images are {shown(shape)}, more pixels than any image has.")
    if (names := header["feature_names"]) is not None:
        if not isinstance(names, list) or len(names) != scattering.n_features_in_:
            raise ModelFileError(f"its images have not {scattering.n_features_in_} names.")
        scattering.feature_names_in_ = np.array(names, dtype=object)
    stride = 2**scattering.J if scattering.stride is None else scattering.stride
    n_paths = channels * len(path_names(scattering.J, scattering.L))
    D = n_paths * len(places(height, stride)) * len(places(width, stride))
    dtype = scattering._dtype
    scattering.floor_ = scattering.mean_ = None
    scattering.components_ = scattering.explained_variance_ = None
    if scattering.nonlinearity is not None:
        scattering.floor_ = checked_array(arrays, f"{_PREFIX}floor", dtype, (n_paths,))
        if not np.all(scattering.floor_ > 0):
            raise ModelFileError("array 'scattering.floor' is not positive.")
    if scattering.n_components is not None:
        K = len(arrays[f"{_PREFIX}components"])
        if not 0 < K <= scattering.n_components:
            raise ModelFileError(f"it has {K} components.")
        scattering.mean_ = checked_array(arrays, f"{_PREFIX}mean", dtype, (D,))
        scattering.components_ = checked_array(arrays, f"{_PREFIX}components", dtype, (K, D))
        variances = checked_array(arrays, f"{_PREFIX}variances", np.float64, (K,))
        scattering.explained_variance_ = variances
    return scattering
