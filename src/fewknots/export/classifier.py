"""A fitted classifier as one ONNX graph: rows in the user's units to probabilities and labels.

    X ──► (x - mean)/scale ──► k(x, Z), k(x, x) ──► μ, σ² ──► link ──► probabilities N×2, label N

The number of rows is free. Each array is stored once. Only Z (M×D) and the projection (M×M) are
large, and these are stored in the requested dtype. Arithmetic is in float64, except for the largest
product of a float32 model, if the rounding is harmless (`_dtype_of_product`).
"""

import json
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ..data.standardise import Standardiser
from ..files.container import replacing
from ..inference.method import Capabilities
from ..kernels import Kernel
from ..likelihoods import Bernoulli
from ..numerics.precision import computing_in
from ..posterior import GaussianPosterior, MixturePosterior
from ..version import __version__
from .graph import Graph, Tensor, side_by_side, square
from .kernels import Inputs, check_hooks
from .links import probabilities

if TYPE_CHECKING:
    from ..tables.recipe import Recipe

ROWS = "rows"  # name of the free dimension
# Largest error of a probability, at the inducing points, from a product in float32. At other rows
# the error may be several times as large, and we promise 1e-5.
_MOST_ROUNDED = 1e-6


@runtime_checkable
class FittedClassifier(Protocol):
    """A `GPClassifier` after its fit."""

    classes_: np.ndarray
    kernel_: Kernel
    method_: str
    n_features_in_: int
    posterior_: Any  # a Gaussian or a mixture of Gaussians can be exported
    _standardiser: Standardiser
    _method: type[Capabilities]
    _likelihood: Bernoulli


def write(
    classifier: FittedClassifier,
    path: str | PathLike[str],
    dtype: np.dtype,
    recipe: "Recipe | None" = None,
) -> None:
    """Write the graph of a fitted classifier to `path`, atomically."""
    if not classifier._method.exports_to_onnx:
        raise ValueError(
            f"method={classifier.method_!r} looks up neighbours among its rows, which is no ONNX "
            "graph. Export a fit by method='sparse_kl', or serve this one with fewknots."
        )
    graph = Graph()
    if recipe is None:
        X = graph.input("X", dtype, ROWS, classifier.n_features_in_).cast(np.float64)
    else:
        from .columns import features_of  # recipes need pyarrow

        X = features_of(recipe, graph, ROWS)
    add_classifier(graph, classifier, X, dtype)
    with replacing(path) as temporary:
        temporary.write_bytes(_content(graph, classifier))


def add_classifier(graph: Graph, classifier: FittedClassifier, X: Tensor, dtype: np.dtype) -> None:
    """Everything after the inputs: X is N×D in the user's units, in float64."""
    standardiser = classifier._standardiser
    standardised = (X - standardiser.mean[None, :]) / standardiser.scale[None, :]
    both = probabilities(
        classifier._likelihood.link, *_marginals(classifier.posterior_, standardised, dtype)
    )
    # For a mixture, average the probabilities of its Gaussians; otherwise there is one column.
    negative, positive = (p.mean(axis=1) for p in both)
    graph.output("probabilities", side_by_side(negative, positive).cast(dtype), ROWS, 2)
    graph.output("label", _labels(graph, classifier.classes_, positive > negative), ROWS)


def _marginals(
    posterior: GaussianPosterior | MixturePosterior, X: Tensor, dtype: np.dtype
) -> tuple[Tensor, Tensor]:
    """Means (a column for each Gaussian of a mixture) and variances (a column) of f.

    With w = Tᵀ mean and B = √|shrink| T, which is posterior.py's arithmetic in another order:

        μ(x) = k(x, Z) w,     σ²(x) = k(x, x) - Σ_i ± (B k(Z, x))_i².
    """
    check_hooks(posterior.kernel, posterior.points)
    arrays = {name: array.astype(np.float64) for name, array in posterior.arrays().items()}
    shrink, projection = arrays["shrink"][0], arrays["projection"][0]  # two classes: L = 1
    means = arrays["means"][:, 0] if isinstance(posterior, MixturePosterior) else arrays["mean"]
    w = (means @ projection).T
    B = np.sqrt(np.abs(shrink))[:, None] * projection
    graph = X.graph
    centre = arrays["points"].mean(axis=0, keepdims=True)
    Z = graph.array(arrays["points"] - centre, dtype).cast(np.float64)
    inputs = Inputs(X, Z, centre, posterior.points.shape, exact=dtype == np.float64)
    k = posterior.kernel.onnx_covariance(inputs)
    signs = np.sign(shrink)[:, None]
    product = _dtype_of_product(posterior, B, signs, dtype)
    b = k.cast(product) @ graph.array(B.T, dtype).cast(product)
    explained = (square(b) @ signs).cast(np.float64)
    return k @ w, (posterior.kernel.onnx_diagonal(inputs) - explained).maximum(0.0)


def _dtype_of_product(
    posterior: GaussianPosterior | MixturePosterior,
    B: Float[np.ndarray, "M M"],
    signs: Float[np.ndarray, "M 1"],
    dtype: np.dtype,
) -> np.dtype:
    """The dtype for the only large product, which takes M² operations per row.

    σ² is a small difference of two large numbers, so it contains their whole rounding error. The
    error of float32 is measured at the points; an error δ of σ² changes Φ(μ/√(1 + σ²)) by at most
    max|zφ(z)|/2 · δ/(1 + σ²).
    """
    Z = posterior.points.astype(np.float64)
    with computing_in(np.dtype(np.float64)):
        k, variance = (
            np.asarray(f) for f in (posterior.kernel(Z, Z), posterior.kernel.diagonal(Z))
        )
    exact = np.square(k @ B.T) @ signs
    rounded = np.square(k.astype(dtype) @ B.T.astype(dtype)) @ signs.astype(dtype)
    shift = np.abs(rounded - exact) / (1.0 + np.maximum(variance[:, None] - exact, 0.0))
    return dtype if 0.121 * shift.max() <= _MOST_ROUNDED else np.dtype(np.float64)


def _labels(graph: Graph, classes: np.ndarray, positive: Tensor) -> Tensor:
    """The more probable class of each row."""
    classes = _classes(classes)
    chosen = graph.apply("Squeeze", positive.cast(np.int64), graph.array([1], np.int64))
    return graph.apply("Gather", graph.array(classes), chosen, axis=0)


def _classes(classes: np.ndarray) -> np.ndarray:
    """The labels in a type that ONNX has; dates, and integers above int64, as text."""
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iu" and classes[1] <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    return classes.astype(np.float64 if classes.dtype.kind == "f" else str)


def _content(graph: Graph, classifier: FittedClassifier) -> bytes:
    names: Any = getattr(classifier, "feature_names_in_", None)
    metadata = {
        "classes": json.dumps(_classes(classifier.classes_).tolist()),
        "features": json.dumps(None if names is None else list(names)),
        "kernel": repr(classifier.kernel_),
        "likelihood": classifier._likelihood.link,
    }
    return graph.content("fewknots", ("fewknots", __version__), metadata)
