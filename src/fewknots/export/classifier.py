r"""A fitted classifier as one ONNX graph: rows in the user's units to probabilities and labels.

    X ──► (x - mean)/scale ──► k(x, Z), k(x, x) ──► μ, σ² ──► link ──► probabilities N×C, label N

The number of rows is free. Each array is stored once. Only Z (M×D) and the projections (M×M, for
each latent function) are large, and these are stored in the requested dtype. Arithmetic is in
float64, except for the largest product of a float32 model, if the rounding is harmless
(`_dtype_of_product`).

The link of two classes takes a few hundred operations per row, against M² for the posterior, so
float32 models compute it in float64 too. It repeats `likelihoods/bernoulli.py`: see there for the
formulas. More classes are in `softmax.py` and `largest.py`.
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
from ..likelihoods import Bernoulli, Likelihood, MultinomialProbit, Softmax
from ..numerics.precision import computing_in
from ..numerics.quadrature import (
    CHUNK,
    HERMITE_LARGEST_SIGMA,
    HERMITE_NODES,
    HERMITE_WEIGHTS,
    MOST_NODES,
    NODES_BY_WIDTH,
    REACH,
    STRETCH,
)
from ..posterior import GaussianPosterior, MixturePosterior
from ..version import __version__
from .graph import (
    Graph,
    Tensor,
    absolute,
    exp,
    log,
    side_by_side,
    sign,
    sqrt,
    square,
    where,
)
from .kernels import Inputs, check_hooks
from .largest import normal_tails, probability_of_largest
from .softmax import expected_softmax

if TYPE_CHECKING:
    from ..images import Scattering
    from ..tables.recipe import Recipe
    from ..tables.recipe.input_columns import InputColumns

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
    _columns: "InputColumns | None"
    _method: type[Capabilities]
    _likelihood: Likelihood


def write(
    classifier: FittedClassifier,
    path: str | PathLike[str],
    dtype: np.dtype,
    recipe: "Recipe | None" = None,
    images: "Scattering | None" = None,
) -> None:
    """Write the graph of a fitted classifier to `path`, atomically."""
    if not classifier._method.exports_to_onnx:
        raise ValueError(
            f"method={classifier.method_!r} looks up neighbours among its rows, which an ONNX "
            "graph cannot do. Export a fit with method='sparse_kl', or serve this one with "
            "fewknots."
        )
    if not isinstance(classifier._likelihood, Bernoulli | MultinomialProbit | Softmax):
        raise TypeError(
            "ONNX graphs are for the links probit, logit and softmax, not for "
            f"{type(classifier._likelihood).__name__}. Serve this model with fewknots."
        )
    mixture = isinstance(classifier.posterior_, MixturePosterior)
    if mixture and classifier._likelihood.n_latent > 1:
        raise ValueError(
            "of more than two classes, ONNX graphs have no samples of mean field. Fit with "
            "method_options={'predictor': 'gaussian'}, or serve this model with fewknots."
        )
    graph = Graph()
    if images is not None:
        from .scattering import scattered

        X = scattered(images, graph, ROWS, dtype)
    elif recipe is None:
        X = graph.input("X", dtype, ROWS, classifier.n_features_in_).cast(np.float64)
    else:
        from .columns import features_of, features_of_matrix  # recipes may need pyarrow

        columns = classifier._columns
        if columns is None or columns.are_named or columns.recipe is not recipe:
            X = features_of(recipe, graph, ROWS)
        else:
            X = features_of_matrix(columns, graph, ROWS, dtype)
    add_classifier(graph, classifier, X, dtype)
    with replacing(path) as temporary:
        temporary.write_bytes(_content(graph, classifier))


def add_classifier(graph: Graph, classifier: FittedClassifier, X: Tensor, dtype: np.dtype) -> None:
    """Everything after the inputs: X is N×D in the user's units, in float64."""
    standardiser = classifier._standardiser
    standardised = (X - standardiser.mean[None, :]) / standardiser.scale[None, :]
    latent = _marginals(classifier.posterior_, standardised, dtype)
    likelihood, n_classes = classifier._likelihood, len(classifier.classes_)
    if isinstance(likelihood, Bernoulli):
        # For a mixture, average the probabilities of its Gaussians; otherwise there is one column.
        negative, positive = (p.mean(axis=1) for p in probabilities(likelihood.link, *latent))
        each = side_by_side(negative, positive)
    elif isinstance(likelihood, MultinomialProbit):
        each = probability_of_largest(*latent, n_classes, dtype)
    else:
        each = expected_softmax(*latent, n_classes, dtype)
    graph.output("probabilities", each.cast(dtype), ROWS, n_classes)
    if isinstance(likelihood, Bernoulli):
        larger = (positive > negative).cast(np.int64)
        code = graph.apply("Squeeze", larger, graph.array([1], np.int64))
    else:
        code = graph.apply("ArgMax", each, dtype=np.int64, axis=1, keepdims=0)
    names = graph.array(_classes(classifier.classes_))
    graph.output("label", graph.apply("Gather", names, code, axis=0), ROWS)


def _marginals(
    posterior: GaussianPosterior | MixturePosterior, X: Tensor, dtype: np.dtype
) -> tuple[Tensor, Tensor]:
    """Means and variances of f: a column for each latent function.

    A mixture has one latent function, a column of means for each of its Gaussians and one column of
    variances. With w = Tᵀ mean and B = √|shrink| T, posterior.py's arithmetic in another order:

        μ(x) = k(x, Z) w,     σ²(x) = k(x, x) - Σ_i ± (B k(Z, x))_i².
    """
    check_hooks(posterior.kernel, posterior.points)
    arrays = {name: array.astype(np.float64) for name, array in posterior.arrays().items()}
    shrink, projection = arrays["shrink"], arrays["projection"]
    means = arrays["means" if isinstance(posterior, MixturePosterior) else "mean"]
    w = np.hstack(
        [(np.atleast_2d(means[..., latent, :]) @ T).T for latent, T in enumerate(projection)]
    )
    held = [
        (np.sqrt(np.abs(one))[:, None] * T, np.sign(one)[:, None])
        for one, T in zip(shrink, projection, strict=True)
    ]
    graph = X.graph
    # As coordinates, points far out need few digits.
    kernel = posterior.kernel.of_coordinates
    X = posterior.kernel.onnx_coordinates(X, posterior.points.shape[1])
    points = np.asarray(posterior.kernel.coordinates(arrays["points"]))
    centre = points.mean(axis=0, keepdims=True)
    Z = graph.array(points - centre, dtype).cast(np.float64)
    inputs = Inputs(X, Z, centre, posterior.points.shape, exact=dtype == np.float64)
    k = kernel.onnx_covariance(inputs)
    product = _dtype_of_product(posterior, held, dtype)
    rounded = k.cast(product)
    columns = []
    for B, signs in held:
        b = rounded @ graph.array(B.T, dtype).cast(product)
        columns.append((square(b) @ signs).cast(np.float64))
    explained = columns[0] if len(columns) == 1 else side_by_side(*columns)
    return k @ w, (kernel.onnx_diagonal(inputs) - explained).maximum(0.0)


def _dtype_of_product(
    posterior: GaussianPosterior | MixturePosterior,
    held: list[tuple[Float[np.ndarray, "M M"], Float[np.ndarray, "M 1"]]],
    dtype: np.dtype,
) -> np.dtype:
    """The dtype for the only large products, which take M² operations per row.

    σ² is a small difference of two large numbers, so it contains their whole rounding error. The
    error of float32 is measured at the points; an error δ of σ² changes Φ(μ/√(1 + σ²)) by at most
    max|zφ(z)|/2 · δ/(1 + σ²), and E[softmax] by no more.
    """
    Z = posterior.points.astype(np.float64)
    with computing_in(np.dtype(np.float64)):
        k, variance = (
            np.asarray(f) for f in (posterior.kernel(Z, Z), posterior.kernel.diagonal(Z))
        )
    for B, signs in held:
        exact = np.square(k @ B.T) @ signs
        rounded = np.square(k.astype(dtype) @ B.T.astype(dtype)) @ signs.astype(dtype)
        shift = np.abs(rounded - exact) / (1.0 + np.maximum(variance[:, None] - exact, 0.0))
        if 0.121 * shift.max() > _MOST_ROUNDED:
            return np.dtype(np.float64)
    return dtype


def _classes(classes: np.ndarray) -> np.ndarray:
    """The labels in a type that ONNX has; dates, and integers above int64, as text."""
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iu" and classes[-1] <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    return classes.astype(np.float64 if classes.dtype.kind == "f" else str)


def _content(graph: Graph, classifier: FittedClassifier) -> bytes:
    names: Any = getattr(classifier, "feature_names_in_", None)
    likelihood = classifier._likelihood
    several = "probit" if likelihood.largest_leads else "softmax"
    metadata = {
        "classes": json.dumps(_classes(classifier.classes_).tolist()),
        "features": json.dumps(None if names is None else list(names)),
        "kernel": repr(classifier.kernel_),
        "likelihood": getattr(likelihood, "link", several),
    }
    return graph.content("fewknots", ("fewknots", __version__), metadata)


def probabilities(link: str, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """P(-1) and P(+1) with f ~ N(mean, variance) integrated out, elementwise."""
    if link == "probit":
        return normal_tails(mean / sqrt(1.0 + variance))
    return _expected_logistic(-mean, variance), _expected_logistic(mean, variance)


def _expected_logistic(mean: Tensor, variance: Tensor) -> Tensor:
    """E[1/(1 + e⁻ᶠ)], f ~ N(mean, variance), by a tilted quadrature."""
    tilt = (-mean / variance.maximum(1e-30)).maximum(0.0).minimum(1.0)
    value = _expected_tilted(tilt, mean + tilt * variance, sqrt(variance))
    return exp(tilt * mean + 0.5 * square(tilt) * variance) * value


def _expected_tilted(tilt: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """E[e⁻ᵗᶠ s(f)] by the rule that `quadrature.expect` uses for the largest σ of the batch.

    The first axis runs over nodes. Both rules are evaluated, and one is used.
    """

    def average(f: Tensor, weight: Tensor) -> Tensor:
        log_logistic = f.minimum(0.0) - log(1.0 + exp(-absolute(f)))
        values = exp(log_logistic - tilt * f)
        return (weight * values).sum(axis=0, keep=False) / weight.sum(axis=0, keep=False)

    # Ignore rows with NaN: they must not decide for other rows.
    largest = where(sigma > 0.0, sigma, sigma.graph.number(0.0, sigma.dtype)).largest().maximum(0.0)
    hermite = average(mean + sigma * HERMITE_NODES[:, None, None], _column(HERMITE_WEIGHTS, mean))
    trapezoid = average(*_stretched_trapezoid(mean, sigma, largest))
    return where(largest <= HERMITE_LARGEST_SIGMA, hermite, trapezoid)


def _stretched_trapezoid(mean: Tensor, sigma: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights; their number depends on the largest σ."""
    floor = 4.0 * float(np.finfo(np.float64).eps) ** 0.5
    sigma = sigma.maximum((1.0 + absolute(mean)) * floor)
    width = _asinh(largest * (REACH / STRETCH))
    constant, linear, quadratic = NODES_BY_WIDTH
    wanted = (constant + linear * width + quadratic * square(width)) / CHUNK
    count = (wanted.graph.apply("Ceil", wanted) * CHUNK).minimum(MOST_NODES)
    first = _asinh((mean - REACH * sigma) / STRETCH)
    step = (_asinh((mean + REACH * sigma) / STRETCH) - first) / (count - 1.0)
    graph = mean.graph
    numbers = graph.apply(
        "Range", graph.number(0.0, mean.dtype), count, graph.number(1.0, mean.dtype)
    )
    numbers = graph.apply("Unsqueeze", numbers, graph.array([1, 2], np.int64))
    up = exp(first + numbers * step)
    down = 1.0 / up
    f = 0.5 * STRETCH * (up - down)
    return f, (up + down) * exp(-0.5 * square((f - mean) / sigma))


def _column(values: np.ndarray, like: Tensor) -> Tensor:
    return like.graph.array(values[:, None, None], like.dtype)


def _asinh(x: Tensor) -> Tensor:
    return sign(x) * log(absolute(x) + sqrt(square(x) + 1.0))
