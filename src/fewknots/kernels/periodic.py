r"""The periodic kernel: functions that repeat.

Map each input to a point on a circle: u(x) = (cos 2πx/p, sin 2πx/p), with period p. The distance
between two such points is |u(a) - u(b)| = 2 |sin(π(a - b)/p)|, so an RBF kernel of u is

    k(a, b) = variance · exp(-½ Σ_d |u(a_d) - u(b_d)|² / ℓ_d²)
            = variance · exp(-2 Σ_d sin²(π(a_d - b_d)/p_d) / ℓ_d²),                             (1)

MacKay's periodic kernel. It is positive definite because the RBF kernel is. The code uses the first
form, with the distances and gradients of stationary.py.

Random functions are sums of waves, as in stationary.py. With z = 1/ℓ² and τ = a - b the Fourier
series of one factor is

    exp(-2 sin²(πτ/p)/ℓ²) = e^{-z} e^{z cos(2πτ/p)} = Σ_j e^{-z} I_j(z) cos(2πjτ/p),            (2)

j = 0, ±1, ±2, ... Its coefficients are probabilities: those of the difference of two Poisson
numbers with mean z/2 (Skellam 1946). So j is drawn as such a difference, for each input; ω = 2πj/p.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.elementary import exp
from ..numerics.fields import column_choice, positive, setting
from .base import Kernel
from .stationary import phases, squared_distance, waves


def _root_of_count(spread: Float[np.ndarray, " D"], each: bool) -> float:
    return math.sqrt(len(spread))


def _two_deviations(spread: Float[np.ndarray, " D"], each: bool) -> Any:
    return 2.0 * spread if each else 2.0 * float(np.mean(spread))


class Periodic(Kernel):
    """k(a, b) = variance · exp(-2 Σ_d sin²(π(a_d - b_d)/period_d) / lengthscale_d²).

    period : positive number, one per input, or None (two standard deviations). In the units of the
        kernel's inputs: with `standardize=True` a week is 7 / (standard deviation in days). The
        evidence has many local maxima in the period, so start near the right one.
    lengthscale : positive number, one per input, or None (√D). It has no unit: with about 1 there
        is one wave per period, with smaller values there are finer ones.
    variance : positive number, k(a, a).
    ard : one period and lengthscale per input, or a single one for all.
    columns : names or numbers of the inputs that it uses, or None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Periodic
    >>> kernel = Periodic(period=3.0, lengthscale=1.0)  # 0 and 3 are the same
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[1.  , 0.22, 1.  ],
           [0.22, 1.  , 0.22],
           [1.  , 0.22, 1.  ]], dtype=float32)
    """

    may_be_warped = False  # the period is in the user's units, so no warp

    period: Any = positive(None, one_per_input="ard", start=_two_deviations, unit=1)
    lengthscale: Any = positive(None, one_per_input="ard", start=_root_of_count)
    variance: Any = positive(1.0)
    ard: bool = setting(True)
    columns: Any = column_choice()

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        A, B = self.chosen(A), self.chosen(B)
        scale = A.shape[1] ** 0.5 if self.lengthscale is None else self.lengthscale
        scale = jnp.broadcast_to(jnp.asarray(scale, A.dtype), (A.shape[1],))
        r2 = squared_distance(self._wound(A), self._wound(B), jnp.concatenate([scale, scale]))
        return self.variance * exp(-0.5 * r2)

    def _wound(self, A):
        """u(x) in (1): all cosines, then all sines."""
        period = jnp.asarray(2.0 if self.period is None else self.period, A.dtype)
        angle = A * (2.0 * math.pi / period)
        return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1)

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        """For near points 2 sin²(πr/p)/ℓ² ≈ ½ r²/s² with s = pℓ/2π; returns s."""
        if self.period is None or self.lengthscale is None:
            return None
        return self.period * self.lengthscale / (2.0 * math.pi)

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        """Harmonics j of (2), an integer for each input and wave, and phases."""
        n_chosen = n_inputs if self.columns is None else len(self.columns)
        scale = n_chosen**0.5 if self.lengthscale is None else self.lengthscale
        rate = np.broadcast_to(0.5 / np.square(np.asarray(scale, np.float64)), (n_chosen,))
        up, down = random.poisson(rate[:, None], (2, n_chosen, size))
        return (up - down).astype(np.float64), phases(random, size)

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        X = self.chosen(X)
        period = jnp.asarray(2.0 if self.period is None else self.period, X.dtype)
        return waves(X * (2.0 * math.pi / period), randomness, self.variance)

    def onnx_covariance(self, inputs: Any) -> Any:
        inputs = inputs.chosen(self.columns)
        turns = 2.0 * math.pi / inputs.per_input(self.period)

        def wound(x):  # onnxruntime has no cosine in float64
            angle = x * turns
            return (angle + 0.5 * math.pi).applied("Sin").beside(angle.applied("Sin"))

        scale = inputs.per_input(self.lengthscale)[0] * math.sqrt(2.0)
        q = inputs.mapped(wound, 2 * inputs.shape[1]).squared_distance(np.r_[scale, scale])
        return (math.log(self.variance) - q).applied("Exp")

    def onnx_diagonal(self, inputs: Any) -> Any:
        return inputs.number(self.variance)
