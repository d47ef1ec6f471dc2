r"""Any number of classes: p(y = c|f) = exp(f_c) / Σ_j exp(f_j), one latent function a class.

Other libraries sample or bound the expectation of log Σ exp f. Here it is a one-dimensional
integral (numerics/gumbel.py), so bound, slopes, curvatures and probabilities are exact. With π =
softmax(f), for each class c

    (log p)' = [y = c] - π_c,        -(log p)'' = π_c (1 - π_c),

where the last is the diagonal of diag(π) - π πᵀ: q is independent between classes, so mixed
derivatives do not appear in its bound.
"""

from typing import ClassVar

import jax.numpy as jnp
from jax.nn import log_softmax
from jaxtyping import Array, Bool, Float

from ..numerics.coupled_softmax import coupled_softmax_entropy, log_coupled_softmax_mean
from ..numerics.fields import setting
from ..numerics.gumbel import (
    log_softmax_mean,
    softmax_entropy,
    softmax_moments,
    tilted_softmax,
)
from .base import Expectations, Likelihood, Pointwise, Tilted


class Softmax(Likelihood):
    """`n_classes` classes, each with a latent function; y is the code of the class.

    Examples
    --------
    >>> from fewknots import GPClassifier
    >>> from fewknots.likelihoods import Softmax
    >>> GPClassifier(likelihood=Softmax(4)).likelihood
    Softmax(n_classes=4)
    """

    targets: ClassVar = "classes"
    shift_invariant: ClassVar = True
    n_classes: int = setting(3)

    @property
    def n_latent(self) -> int:
        """One for each class."""
        return self.n_classes

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "C N"], variance: Float[Array, "C N"]
    ) -> Expectations:
        """E[f_y] - E[log Σ exp f] and its derivatives, by one integral."""
        own = self._own(y)
        found = softmax_moments(mean, variance)
        log_prob = jnp.sum(jnp.where(own, mean, 0.0), axis=0) - found.log_sum
        return Expectations(log_prob, own - found.mean, found.spread, found.spread_change)

    def at(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Pointwise:
        """In closed form."""
        own, log_p = self._own(y), log_softmax(f, axis=0)
        p = jnp.exp(log_p)
        log_prob = jnp.sum(jnp.where(own, log_p, 0.0), axis=0)
        spread = p * -jnp.expm1(log_p)
        return Pointwise(log_prob, own - p, spread, spread * (1.0 - 2.0 * p))

    def at_free_shift(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Pointwise:
        """With g = f - u, log p = max_u Σ_c ([y = c] g_c - e^{g_c}) + 1, where e^{g_c} = π_c."""
        own, log_p = self._own(y), log_softmax(f, axis=0)
        p = jnp.exp(log_p)
        return Pointwise(jnp.sum(jnp.where(own, log_p, 0.0), axis=0), own - p, p, p)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "C N"], variance: Float[Array, "C N"]
    ) -> Tilted:
        """From the same integral."""
        found = tilted_softmax(self._own(y), mean, variance)
        return Tilted(found.log_prob, found.slope, -found.second)

    def log_probabilities(
        self,
        mean: Float[Array, "C N"],
        variance: Float[Array, "C N"] | Float[Array, "C C N"],
    ) -> tuple[Float[Array, " N"], ...]:
        """Each is a logarithm from the start, so none underflows to log 0.

        For functions that are not independent, `variance` is their covariance.
        """
        coupled = variance.ndim == 3
        return tuple((log_coupled_softmax_mean if coupled else log_softmax_mean)(mean, variance))

    def conditional_entropy(
        self,
        mean: Float[Array, "C N"],
        variance: Float[Array, "C N"] | Float[Array, "C C N"],
    ) -> Float[Array, " N"]:
        """From the integral of `expectations`."""
        coupled = variance.ndim == 3
        return (coupled_softmax_entropy if coupled else softmax_entropy)(mean, variance)

    def _own(self, y: Float[Array, " N"]) -> Bool[Array, "C N"]:
        """Whether each latent function is that of the row's class."""
        return jnp.arange(self.n_classes)[:, None] == y
