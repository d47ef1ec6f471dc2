"""Stationary kernels: k(a, b) = variance · ρ(r), r² = Σ_d (a_d - b_d)² / lengthscale_d².

They differ only in ρ. With `ard=True` (the default) there is one lengthscale per input ("automatic
relevance determination": an input that does not matter gets a long lengthscale).

Random functions with such a covariance are waves (Rahimi & Recht 2007). Every ρ here is a mixture
of Gaussians, ρ(r) = E exp(-τ r²/2), and exp(-τ r²/2) = E cos(ω·(a - b)/ℓ) for ω ~ N(0, τ I). So
with a phase b that is uniform on the circle

    φ(x) = √(2 variance) cos(ω·x/ℓ + b),     E φ(a) φ(b) = variance · ρ(r).                  (waves)
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.elementary import exp, log1p, not_below_zero
from ..numerics.fields import column_choice, positive, setting
from .base import Kernel, Moved, no_functions, no_onnx, over_inputs

# Up to this many inputs, squared distances are sums of squared differences: accurate also for
# nearly equal points. For more inputs the matrix product form is many times faster; after
# centring, its error is about 1e-16 of the largest squared distance.
MOST_INPUTS_FOR_DIFFERENCES = 32


def _typical_distance(spread: Float[np.ndarray, " D"], each: bool) -> Any:
    return spread * np.sqrt(len(spread)) if each else np.sqrt(np.sum(spread**2))


class Stationary(Kernel):
    """Base of the stationary kernels.

    lengthscale : positive number, one per input, or None (from the data: with D inputs, √D
        times each input's standard deviation).
    variance : positive number, k(a, a).
    ard : one lengthscale per input, or a single one for all.
    columns : names or numbers of the inputs that it uses, or None for all.
    """

    lengthscale: Any = positive(None, one_per_input="ard", start=_typical_distance, unit=1)
    variance: Any = positive(1.0)
    ard: bool = setting(True)
    columns: Any = column_choice()

    def correlation(self, r2: Float[AnyArray, "N M"]) -> Float[AnyArray, "N M"]:
        """ρ as a function of r²."""
        raise NotImplementedError

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        A, B = self.chosen(A), self.chosen(B)
        scale = A.shape[1] ** 0.5 if self.lengthscale is None else self.lengthscale
        scale = jnp.asarray(scale, A.dtype)
        return self.variance * self.correlation(squared_distance(A, B, scale))

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        return self.lengthscale

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """Computed from r² = s_d²/ℓ_d², since x' - x would lose digits for long lengthscales."""
        lengthscale = np.asarray(self.lengthscale, np.float64)
        r2 = np.square(step / over_inputs(self, lengthscale, len(step), np.inf))
        still = float(self.variance) * np.ones(len(step))
        correlation = np.asarray(self.correlation(jnp.asarray(r2[None])), np.float64)[0]
        return Moved(still, still * correlation, still)

    def precision_mixture(
        self, random: np.random.RandomState, size: int
    ) -> Float[np.ndarray, " F"] | float:
        """Draws of τ in (waves)."""
        raise TypeError(no_functions(self, "precision_mixture"))

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        """Frequencies ω and phases of (waves)."""
        n_chosen = n_inputs if self.columns is None else len(self.columns)
        frequency = random.standard_normal((n_chosen, size))
        frequency *= np.sqrt(self.precision_mixture(random, size))
        return frequency, phases(random, size)

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        X = self.chosen(X)
        scale = X.shape[1] ** 0.5 if self.lengthscale is None else self.lengthscale
        return waves(X / jnp.asarray(scale, X.dtype), randomness, self.variance)

    # In ONNX the variance is moved into the exponent, and the factor of r² into the scale: every
    # operation of onnxruntime is a pass over all N×M numbers, so there should be few.
    onnx_factor = 1.0

    def onnx_value(self, q: Any, log_variance: float) -> Any:
        """Variance · ρ as ONNX operations on q = onnx_factor · r²."""
        raise TypeError(no_onnx(self, "onnx_value"))

    def onnx_covariance(self, inputs: Any) -> Any:
        scale = np.asarray(np.divide(self.lengthscale, math.sqrt(self.onnx_factor)), np.float64)
        q = inputs.chosen(self.columns).squared_distance(scale)
        return self.onnx_value(q, math.log(self.variance))

    def onnx_diagonal(self, inputs: Any) -> Any:
        return inputs.number(self.variance)


class RBF(Stationary):
    """ρ(r) = exp(-r²/2): smooth functions.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RBF
    >>> kernel = RBF(lengthscale=2.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.88, 0.32],
           [0.88, 1.  , 0.61],
           [0.32, 0.61, 1.  ]], dtype=float32)
    """

    onnx_factor = 0.5

    def correlation(self, r2):
        return exp(-0.5 * r2)

    def precision_mixture(self, random, size):
        return 1.0

    def onnx_value(self, q, log_variance):
        return (log_variance - q).applied("Exp")


class Matern12(Stationary):
    """ρ(r) = exp(-r): continuous, nowhere smooth.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Matern12
    >>> kernel = Matern12(lengthscale=2.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.61, 0.22],
           [0.61, 1.  , 0.37],
           [0.22, 0.37, 1.  ]], dtype=float32)
    """

    def correlation(self, r2):
        return exp(-_distance(r2))

    def precision_mixture(self, random, size):
        return _of_student(random, 1, size)

    def onnx_value(self, q, log_variance):
        return (log_variance - q.applied("Sqrt")).applied("Exp")


class Matern32(Stationary):
    """ρ(r) = (1 + √3 r) exp(-√3 r): once differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Matern32
    >>> kernel = Matern32(lengthscale=2.0, variance=3.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[3.  , 2.35, 0.8 ],
           [2.35, 3.  , 1.45],
           [0.8 , 1.45, 3.  ]], dtype=float32)
    """

    onnx_factor = 3.0

    def correlation(self, r2):
        s = 3.0**0.5 * _distance(r2)
        return (1.0 + s) * exp(-s)

    def precision_mixture(self, random, size):
        return _of_student(random, 3, size)

    def onnx_value(self, q, log_variance):
        s = q.applied("Sqrt")
        return (1.0 + s) * (log_variance - s).applied("Exp")


class Matern52(Stationary):
    """ρ(r) = (1 + √5 r + 5r²/3) exp(-√5 r): twice differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Matern52
    >>> kernel = Matern52(lengthscale=2.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.83, 0.28],
           [0.83, 1.  , 0.52],
           [0.28, 0.52, 1.  ]], dtype=float32)
    """

    onnx_factor = 5.0

    def correlation(self, r2):
        s = 5.0**0.5 * _distance(r2)
        return (1.0 + s + s**2 / 3.0) * exp(-s)

    def precision_mixture(self, random, size):
        return _of_student(random, 5, size)

    def onnx_value(self, q, log_variance):
        s = q.applied("Sqrt")
        return (1.0 + s + q / 3.0) * (log_variance - s).applied("Exp")


class RationalQuadratic(Stationary):
    """ρ(r) = (1 + r²/(2α))^(-α): a mixture of RBF kernels with different lengthscales.

    alpha : positive number. Small: very different lengthscales; large: nearly a single one (RBF).

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RationalQuadratic
    >>> kernel = RationalQuadratic(lengthscale=2.0, alpha=0.5)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.89, 0.55],
           [0.89, 1.  , 0.71],
           [0.55, 0.71, 1.  ]], dtype=float32)
    """

    alpha: Any = positive(1.0)

    def correlation(self, r2):
        return exp(-self.alpha * log1p(r2 / (2.0 * self.alpha)))

    def precision_mixture(self, random, size):
        return random.standard_gamma(self.alpha, size) / self.alpha

    def onnx_value(self, q, log_variance):
        alpha = float(self.alpha)
        return (log_variance - alpha * (1.0 + q / (2.0 * alpha)).applied("Log")).applied("Exp")


class Hyperbolic(Stationary):
    """ρ(r) = exp(-(1 + c)(√(c² + r²) - c)): its smoothness is learned.

    Like RBF for r below c and exponential above: Matern12 for c → 0, RBF for c → ∞. It is positive
    definite for any number of inputs, since √(c² + s) - c is a Bernstein function of s = r².

    corner : positive number, c.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Hyperbolic
    >>> kernel = Hyperbolic(lengthscale=2.0, corner=0.5)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.73, 0.2 ],
           [0.73, 1.  , 0.4 ],
           [0.2 , 0.4 , 1.  ]], dtype=float32)
    """

    corner: Any = positive(1.0)

    def correlation(self, r2):
        c = self.corner  # √(c² + r²) - c without cancellation
        return exp(-(1.0 + c) * r2 / (jnp.sqrt(c * c + r2) + c))

    def precision_mixture(self, random, size):
        # exp(a c - a √(c² + s)) = E[exp(-τ s/2)] for an inverse Gaussian τ, a = 1 + c
        rate = 1.0 + self.corner
        return random.wald(rate / self.corner, rate**2, size)

    def onnx_value(self, q, log_variance):
        c = float(self.corner)
        return (log_variance - (1.0 + c) * (q / ((q + c * c).applied("Sqrt") + c))).applied("Exp")


def _of_student(random: np.random.RandomState, degrees: int, size: int) -> Float[np.ndarray, " F"]:
    """Draws of τ for Matérn kernels: √τ z is then multivariate Student-t, with 2ν degrees."""
    return degrees / random.chisquare(degrees, size)


def phases(random: np.random.RandomState, size: int) -> Float[np.ndarray, " F"]:
    """Phases, uniform on the circle."""
    return random.uniform(0.0, 2.0 * math.pi, size)


def waves(X: Float[AnyArray, "N D"], randomness: Any, variance: Any) -> Float[AnyArray, "N F"]:
    """√(2 variance) cos(X ω + b), a column for each wave."""
    frequency, phase = randomness
    return jnp.sqrt(2.0 * variance) * jnp.cos(X @ frequency + phase)


def _distance(r2: Float[AnyArray, "N M"]) -> Float[AnyArray, "N M"]:
    """√r², with derivative zero where the two points are equal up to rounding.

    The chain rule at r = 0 is ∞ · 0 (d√r² times dr²): autodiff gives NaN there, and large rounding
    errors just above. The limit of the product is 0 for the smooth kernels; for Matérn-½, whose
    slope jumps there, 0 is the mean of the slopes on both sides.
    """
    apart = r2 > (1e4 * float(jnp.finfo(r2.dtype).eps)) ** 2
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, r2, 1.0)), lax.stop_gradient(jnp.sqrt(r2)))


@jax.custom_vjp
def squared_distance(
    A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"], scale: Float[AnyArray, "..."]
) -> Float[AnyArray, "N M"]:
    """Σ_d (a_id - b_jd)² / scale_d²."""
    A, B = _centred(A, B, scale)
    if A.shape[1] <= MOST_INPUTS_FOR_DIFFERENCES:
        # Column by column: XLA fuses this into one loop over the N×M results.
        return sum(jnp.square(a[:, None] - b[None, :]) for a, b in zip(A.T, B.T, strict=True))
    squares = jnp.sum(A**2, axis=1)[:, None] + jnp.sum(B**2, axis=1)[None, :]
    distance = not_below_zero(squares - 2.0 * A @ B.T)  # not negative, in spite of rounding
    return jnp.where(jnp.isinf(squares), squares, distance)  # where it would be ∞ - ∞


def _centred(A, B, scale):
    centre = jnp.mean(B, axis=0)
    return (A - centre) / scale, (B - centre) / scale


def _forward(A, B, scale):
    return squared_distance(A, B, scale), (A, B, scale)


def _backward(saved, G):
    """Gradients by matrix products (autodiff would build an N×M×D array).

    The gradient with respect to the scale gets Σ_ij G_ij (a_i - b_j)² from Gᵀ A, which the gradient
    with respect to B needs anyway. So if A is data and its gradient is not used, the compiler
    drops G B.
    """
    A, B, scale = saved
    a, b = _centred(A, B, scale)
    of_rows, of_columns = jnp.sum(G, axis=1)[:, None], jnp.sum(G, axis=0)[:, None]
    crossed = G.T @ a
    d_a = 2.0 * (a * of_rows - G @ b) / scale
    d_b = 2.0 * (b * of_columns - crossed) / scale
    squares = jnp.sum(of_rows * a**2, 0) + jnp.sum(of_columns * b**2 - 2.0 * b * crossed, 0)
    d_scale = -2.0 * squares / scale
    return d_a, d_b, d_scale if jnp.ndim(scale) else jnp.sum(d_scale)


squared_distance.defvjp(_forward, _backward)
