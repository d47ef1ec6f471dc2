"""`Scattering`: images as rows that suit Gaussian processes. Only conventions here.

The mathematics is in wavelets.py, coefficients.py and components.py.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..data.blocks import map_blocks, padded, row_slices
from ..exceptions import DataError
from ..numerics.precision import (
    DEVICES,
    compiled,
    computing_in,
    for_platform,
    on_device,
    resolve_dtype,
)
from .coefficients import Filters, coefficients, filters_for, padded_size, path_names
from .components import principal_components

LEAST_SIDE = 8
NONLINEARITIES = ("root", "log", None)
_SHARE = 0.1  # τ relative to a path's mean coefficient
_LEAST_FLOOR = 1e-6  # relative to the largest of all paths, for a path that is always zero
_FLOOR_IMAGES = 1000
_BYTES = {"cpu": 2**27, "gpu": 2**31}  # size of the largest intermediate result
_CALL = 4  # cost of a call, in images


class Scattering(TransformerMixin, BaseEstimator):
    """Wavelet scattering of order two, then principal components with partial whitening.

    For small images, without a neural network. The result hardly changes if an image is shifted or
    deformed a little, and only the principal components are learned.

    Parameters
    ----------
    J : int, default 2
        Coefficients are averages over about 2**J pixels, and waves are up to 2**J pixels long.
    L : int, default 8
        Number of angles.
    stride : int or None, default None
        Distance in pixels between the places of the coefficients. None: 2**J.
    nonlinearity : {"root", "log", None}, default "root"
        √(1 + s/τ) - 1 or log(1 + s/τ) of a coefficient s, where τ is a tenth of its kind's mean
        over all images. It increases the effect of weak waves. None: coefficients unchanged.
    n_components : int or None, default 300
        Maximum number of principal components; fewer if the images vary in fewer directions. None:
        all coefficients, unchanged.
    whitening : float from 0 to 1, default 0.5
        0: components unchanged; 1: each with variance one. Their mean variance is always one. A
        classifier that standardises its inputs would undo this, so use standardize=False: see
        Examples.
    shape : tuple or None, default None
        (height, width) or (height, width, channels) of images given as flat rows.
    max_fit_images : int or None, default 20000
        `fit` uses at most this number of images, evenly spaced. None: all.
    dtype : {"float32", "float64"} or None, default None
        Number format of the computations. None: float32.
    device : {"auto", "cpu", "gpu"}, default "auto"
        Where to compute. "auto": on the GPU if JAX sees one.

    X is an array (n_images, height, width), with channels as a fourth axis, or a table with a row
    for each image; pixels may be in any unit. Sides are at least 8 pixels long.

    Attributes
    ----------
    image_shape_ : tuple, (height, width, channels)
    n_features_in_ : int, number of pixels times channels
    feature_names_in_ : array of str, if X had column names
    floor_ : array of shape (n_paths * channels,), τ; None without nonlinearity
    mean_, components_ : arrays of shape (n_coefficients,) and (n_components, n_coefficients): the
        mean that is subtracted and the matrix that multiplies; None if n_components is None
    explained_variance_ : array of shape (n_components,), variances of the components before
        whitening

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewknots import GPClassifier
    >>> from fewknots.images import Scattering
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GPClassifier("rbf", ard=False, standardize=False, warp=None, max_iter=20, tol=0.1)
    >>> model = make_pipeline(Scattering(shape=(8, 8), n_components=50), clf)
    """

    def __init__(
        self,
        J=2,
        L=8,
        *,
        stride=None,
        nonlinearity="root",
        n_components=300,
        whitening=0.5,
        shape=None,
        max_fit_images=20_000,
        dtype=None,
        device="auto",
    ):
        self.J = J
        self.L = L
        self.stride = stride
        self.nonlinearity = nonlinearity
        self.n_components = n_components
        self.whitening = whitening
        self.shape = shape
        self.max_fit_images = max_fit_images
        self.dtype = dtype
        self.device = device

    def fit(self, X: Any, y: Any = None) -> "Scattering":
        """Learn the components of these images; y is ignored."""
        self._check_arguments()
        images = self._images(X, reset=True)
        self.image_shape_ = images.shape[1:]
        self._check_scale(self.image_shape_)
        self.n_features_in_ = int(np.prod(self.image_shape_))
        self.floor_ = self.mean_ = self.components_ = self.explained_variance_ = None
        with on_device(self.device), computing_in(self._dtype):
            if self.nonlinearity is not None:
                self.floor_ = self._floor(_spaced(images, _FLOOR_IMAGES))
            if self.n_components is not None:
                seen = self._blocks(_spaced(images, self.max_fit_images or len(images)))
                found = principal_components(seen, self.n_components, float(self.whitening))
                self.mean_, self.components_, self.explained_variance_ = found
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "N K"]:
        """Transform images to rows."""
        check_is_fitted(self)
        images = self._images(X, reset=False)
        learned = self.floor_, self.mean_, self.components_
        with on_device(self.device), computing_in(self._dtype):
            program = partial(_rows, self._filters(), learned, self.nonlinearity)

            def block(images):
                return (program(images.astype(self._dtype)).T,)

            sizes = sorted({max(1, self._block_size() // 16), self._block_size()})
            return map_blocks(block, images, call=_CALL, sizes=sizes)[0].T

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: numbered components, or names of the coefficients."""
        check_is_fitted(self)
        if self.components_ is not None:
            names = [f"scattering{k}" for k in range(len(self.components_))]
            return np.array(names, dtype=object)
        h, w = (len(part[0]) for part in (self._filters().rows, self._filters().columns))
        names = [
            f"{path}_c{c}_y{i}x{k}"
            for c in range(self.image_shape_[2])
            for path in path_names(self.J, self.L)
            for i in range(h)
            for k in range(w)
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    # --- images -------------------------------------------------------------------------------

    @property
    def _dtype(self) -> np.dtype:
        return resolve_dtype("float32" if self.dtype is None else self.dtype)

    def _images(self, X: Any, reset: bool) -> np.ndarray:
        """The images as N × H × W × C, in their own dtype."""
        if getattr(X, "ndim", 2) > 2:
            if X.ndim > 4:
                raise DataError(f"X has {X.ndim} axes: images have three, or four with channels.")
            X = check_array(X, dtype="numeric", allow_nd=True, estimator=self)
            images = X if X.ndim == 4 else X[..., None]
        else:
            X = validate_data(self, X, dtype="numeric", reset=reset)
            images = X.reshape(len(X), *self._shape_of_rows(X.shape[1], reset))
        wanted = None if self.shape is None else (*self.shape, 1)[:3]
        wanted = wanted if reset else self.image_shape_
        if wanted is not None and images.shape[1:] != tuple(wanted):
            raise DataError(f"images are {_size(images.shape[1:])}, not {_size(wanted)}.")
        return images

    def _shape_of_rows(self, n_features: int, reset: bool) -> tuple[int, ...]:
        if not reset:
            return self.image_shape_
        if self.shape is None:
            raise ValueError(
                f"X has a row of {n_features} numbers for each image: give their height and width, "
                "as in Scattering(shape=(28, 28))."
            )
        shape = (*self.shape, 1)[:3]
        if np.prod(shape) != n_features:
            raise DataError(f"rows of {n_features} numbers are not images of {_size(shape)}.")
        return shape

    def _check_arguments(self) -> None:
        for name, least, optional in (
            ("J", 1, False),
            ("L", 1, False),
            ("stride", 1, True),
            ("n_components", 1, True),
            ("max_fit_images", 2, True),
        ):
            value = getattr(self, name)
            right = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not ((value is None and optional) or (right and value >= least)):
                kind = f"a whole number, at least {least}"
                raise ValueError(f"{name} must be {kind}{' or None' * optional}, got {value!r}.")
        if self.nonlinearity not in NONLINEARITIES:
            raise ValueError(
                f"nonlinearity must be 'root', 'log' or None, got {self.nonlinearity!r}."
            )
        number = isinstance(self.whitening, int | float | np.number)
        if not number or not 0.0 <= self.whitening <= 1.0:
            raise ValueError(f"whitening must be a number from 0 to 1, got {self.whitening!r}.")
        if self.device not in DEVICES:
            raise ValueError(f"device must be one of {', '.join(DEVICES)}, got {self.device!r}.")
        if self.shape is not None and not (
            isinstance(self.shape, tuple | list)
            and len(self.shape) in (2, 3)
            and all(isinstance(n, int | np.integer) and n > 0 for n in self.shape)
        ):
            raise ValueError(
                f"shape must be (height, width) or (height, width, channels), got {self.shape!r}."
            )
        resolve_dtype(self.dtype or "float32")

    def _check_scale(self, shape: tuple[int, ...]) -> None:
        side = min(shape[:2])
        if side < LEAST_SIDE:
            raise DataError(
                f"images are {_size(shape)}: scattering needs at least {LEAST_SIDE} pixels on each "
                "side."
            )
        if side < 2**self.J:
            most = int(np.log2(side))
            raise ValueError(
                f"J={self.J} averages over {2**self.J} pixels, but images are {_size(shape)}: "
                f"J can be at most {most}."
            )

    # --- blocks -------------------------------------------------------------------------------

    def _filters(self) -> Filters:
        height, width = (int(n) for n in self.image_shape_[:2])
        stride = 2**self.J if self.stride is None else int(self.stride)
        return filters_for((height, width), int(self.J), int(self.L), stride, self._dtype)

    def _block_size(self) -> int:
        """How many images fit into the memory that a block may take."""
        height, width, channels = self.image_shape_
        pixels = padded_size(height, self.J) * padded_size(width, self.J) * channels
        bytes_each = 2 * self._dtype.itemsize * pixels * self.L**2
        return max(1, int(for_platform(_BYTES)) // bytes_each)

    def _blocks(self, images: np.ndarray) -> Iterator[Float[np.ndarray, "_ D"]]:
        """Coefficients of all images, block by block."""
        size = min(self._block_size(), len(images))
        learned = self.floor_, None, None
        for rows in row_slices(len(images), size):
            block = padded(images[rows], size).astype(self._dtype)
            found = _rows(self._filters(), learned, self.nonlinearity, block)
            yield np.asarray(found)[: rows.stop - rows.start]

    def _floor(self, images: np.ndarray) -> Float[np.ndarray, " paths"]:
        """τ of each path and channel."""
        size = min(self._block_size(), len(images))
        total: Any = 0.0
        for rows in row_slices(len(images), size):
            block = padded(images[rows], size).astype(self._dtype)
            sizes = np.asarray(_sizes(self._filters(), block), np.float64)
            total = total + sizes[: rows.stop - rows.start].sum(axis=0)
        floor = _SHARE * total / len(images)
        if not np.any(floor > 0):
            raise DataError("all images are black: all their pixels are zero.")
        return np.maximum(floor, _LEAST_FLOOR * floor.max()).astype(self._dtype)


def _spaced(images: np.ndarray, most: int) -> np.ndarray:
    """At most so many of them, evenly spaced."""
    if len(images) <= most:
        return images
    return images[np.linspace(0, len(images) - 1, most).astype(int)]


def _size(shape: Any) -> str:
    height, width, channels = shape
    return f"{height} x {width} pixels" + (f" with {channels} channels" if channels > 1 else "")


def _paths(images: Float[Array, "N H W C"], filters: Filters) -> Float[Array, "N paths h w"]:
    """Coefficients of every channel, one after the other."""
    N, H, W, C = images.shape
    channels = jnp.moveaxis(images, -1, 1).reshape(N * C, H, W)
    found = coefficients(channels, filters)
    return found.reshape(N, -1, *found.shape[2:])


@compiled
def _sizes(filters: Filters, images: Float[Array, "N H W C"]) -> Float[Array, "N paths"]:
    return jnp.abs(_paths(images, filters)).mean(axis=(2, 3))


def _bent(filters: Filters, learned: Any, nonlinearity: Any, images: Any) -> Any:
    floor, mean, axes = learned
    found = _paths(images, filters)
    if nonlinearity is not None:
        relative = jnp.abs(found) / floor[:, None, None]
        bend = jnp.log1p if nonlinearity == "log" else lambda s: jnp.sqrt(1.0 + s) - 1.0
        found = jnp.sign(found) * bend(relative)
    rows = found.reshape(len(found), -1)
    return rows if axes is None else (rows - mean) @ axes.T


_rows = compiled(_bent, static_argnums=(2,))
