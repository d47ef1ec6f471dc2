r"""Noise with outliers: y = f + s t, t of a Student's t distribution with ν = 2 + excess > 2.

With r = y - f and z = r / (s √ν)

    log p(y|f) = log Γ(½(ν+1)) - log Γ(½ν) - ½ log(πν) - log s - ½(ν+1) log(1 + z²).

It is not concave: beyond |z| = 1, for an outlier, -(log p)'' is below zero. So a row's
site may have a negative precision b = E[-(log p)'']: this row makes the posterior wider. This is
the exact stationary point of the bound, without clipping. Only S⁻¹ = I + Aᵀ diag(b) A as a whole
must be positive definite, and at a maximum of the bound it is. During training:

- Full batch (inference/natural_gradient.py): a natural-gradient step from a Gaussian S along
  b ← b + ρ(E[-(log p)''] - b) raises the bound for small enough ρ. If S⁻¹ is not positive definite
  after a step (its Cholesky factor is NaN), the step is rejected and halved, like one that lowers
  the bound. The full prior has a factorisation of its own (inference/signed_sites.py).
- Minibatches (training/steps.py): S⁻¹ moves along a curve within the positive definite matrices.

The positive curvature of the scale mixture, E[(ν+1)/(νs² + r²)] (what EM uses), would be simpler.
But it is not the derivative of the bound with respect to the variance: its fixed point is a q that
is too narrow at outliers, the optimum of another, lower bound. It is therefore not used for q.

ν > 2, so that mean and variance, s² ν/(ν - 2), exist. For ν → ∞ the noise is Gaussian with
variance s².
"""

import math
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, ndtr
from jaxtyping import Array, Float

from ..numerics.fields import positive
from .base import Likelihood
from .one_function import Bend, Derivatives, OneFunction

_FIRST_SCALE = 0.3  # times the deviation of y: a tenth of the variance
_NORMAL = 1.4826022185056018  # 1 / Φ⁻¹(3/4): from a median to a standard deviation
_DROP, _NODES = 40.0, 128
_MANY = 50.0


class StudentT(OneFunction):
    """Noise with outliers: Student's t with scale `scale` and 2 + `excess` degrees of freedom.

    scale : None: training starts from three tenths of y's standard deviation, estimated from the
        median absolute deviation.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import StudentT
    >>> GPRegressor(likelihood=StudentT(excess=1.0)).likelihood  # from 3 degrees of freedom
    StudentT(scale=None, excess=1.0)
    """

    any_scale: ClassVar = True
    log_concave: ClassVar = False
    scale: Any = positive(None)
    excess: Any = positive(2.0)

    @property
    def degrees_of_freedom(self) -> Any:
        """ν."""
        return 2.0 + self.excess

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "StudentT | Likelihood":
        if self.scale is not None:
            return super().prepared(y, weights)
        counted = y[weights > 0]
        spread = _NORMAL * float(np.median(np.abs(counted - np.median(counted))))
        scale = _FIRST_SCALE * (spread if spread > 0 else 1.0)
        return StudentT(scale, self.excess).prepared(y, weights)

    def rescaled(self, scale: float) -> "StudentT":
        return self if self.scale is None else StudentT(self.scale / scale, self.excess)

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        """The derivatives in z, each divided by s √ν once more."""
        nu, width = jnp.asarray(self.degrees_of_freedom), self._width
        z = (f - y) / width
        square = jnp.square(z)
        u = 1.0 / (1.0 + square)
        power = nu + 1.0
        constant = _log_gamma_step(0.5 * nu) - 0.5 * jnp.log(2.0 * jnp.pi) - jnp.log(self.scale)
        return Derivatives(
            constant - 0.5 * power * jnp.log1p(square),
            -power * z * u / width,
            power * (1.0 - square) * jnp.square(u) / width**2,
            -2.0 * power * z * (3.0 - square) * u**3 / width**3,
            -3.0 * power * (1.0 - 6.0 * square + jnp.square(square)) * u**4 / width**4,
        )

    def density_bend(self, y: Float[Array, " N"]) -> Bend:
        """Log(1 + z²) has its singularities at z = ±i."""
        return Bend(y, self._width / math.pi)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        noise = jnp.square(self.scale) * self.degrees_of_freedom / self.excess
        return mean[0], variance[0] + noise

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        """By a mixture: with w ~ Gamma(½ν, ½ν) the noise given w is N(0, s²/w), so

            P(y ≤ t) = E_w[Φ((t - μ) / √(σ² + s²/w))],

        computed by a trapezoidal rule in log w, where the density is above e⁻⁴⁰ of its maximum.
        """
        half = 0.5 * self.degrees_of_freedom
        drop = _DROP / half
        low = -jnp.where(drop < 1.0, 1.5 * jnp.sqrt(2.0 * drop), drop + 1.0)
        high = jnp.minimum(jnp.sqrt(2.0 * drop), jnp.log(2.0 * drop + 2.0))

        def add_node(i, totals):
            log_w = low + (high - low) * i / (_NODES - 1)
            weight = jnp.exp(half * (log_w - jnp.expm1(log_w)))
            spread = jnp.sqrt(variance[0] + jnp.square(self.scale) * jnp.exp(-log_w))
            return totals[0] + weight, totals[1] + weight * ndtr((y - mean[0]) / spread)

        total, found = lax.fori_loop(0, _NODES, add_node, (jnp.zeros_like(half), jnp.zeros_like(y)))
        return found / total

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        drawn = random.standard_t(float(self.degrees_of_freedom), size=f.shape[1])
        return f[0] + self.scale * drawn

    @property
    def _width(self) -> Any:
        """The divisor of r in z, s √ν."""
        return self.scale * jnp.sqrt(self.degrees_of_freedom)


def _log_gamma_step(a: Float[Array, ""]) -> Float[Array, ""]:
    """Log Γ(a + ½) - log Γ(a) - ½ log a; by its series where the logarithms are large."""
    small = jnp.minimum(a, _MANY)
    direct = gammaln(small + 0.5) - gammaln(small) - 0.5 * jnp.log(small)
    b = 1.0 / jnp.maximum(a, _MANY)
    return jnp.where(a < _MANY, direct, b * (-1 / 8 + b**2 * (1 / 192 - b**2 / 640)))
