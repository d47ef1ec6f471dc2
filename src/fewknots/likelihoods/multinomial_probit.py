r"""The multinomial probit for any number of classes: y = argmax_c g_c, g_c = f_c + N(0, 1).

With the value s of the largest g, each integral is over one number (Girolami & Rogers 2006):

    p(y = c|f) = ∫ φ(s - f_c) Π_{j≠c} Φ(s - f_j) ds,

and with f_j ~ N(m_j, v_j) integrated out it is the same with g_j ~ N(m_j, 1 + v_j): the probability
that g_c is the largest (numerics/largest.py). Of two classes it is Φ((f_1 - f_0)/√2), the probit of
(f_1 - f_0)/√2, whose kernel is that of f_0 and f_1.
"""

from typing import ClassVar

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from ..numerics.fields import setting
from ..numerics.largest import log_largest
from ..numerics.quadrature import even_nodes
from .base import Likelihood

_NODES = 256


class MultinomialProbit(Likelihood):
    """`n_classes` classes, each with a latent function; y is the code of the class.

    Examples
    --------
    >>> from fewknots import GPClassifier
    >>> from fewknots.likelihoods import MultinomialProbit
    >>> GPClassifier(likelihood=MultinomialProbit(4)).likelihood
    MultinomialProbit(n_classes=4)
    """

    targets: ClassVar = "classes"
    largest_leads: ClassVar = True
    n_classes: int = setting(3)

    @property
    def n_latent(self) -> int:
        """One for each class."""
        return self.n_classes

    def log_probabilities(
        self, mean: Float[Array, "C N"], variance: Float[Array, "C N"]
    ) -> tuple[Float[Array, " N"], ...]:
        """Each is a logarithm from the start, so none underflows to log 0."""
        log_p = log_largest(mean, 1.0 + variance)
        return tuple(log_p - logsumexp(log_p, axis=0))  # 0 up to quadrature error

    def conditional_entropy(
        self, mean: Float[Array, "C N"], variance: Float[Array, "C N"]
    ) -> Float[Array, " N"]:
        """Averaged over evenly spread nodes, since there is no one-dimensional integral."""

        def add(total: Array, node: Array) -> tuple[Array, None]:
            f = mean + jnp.sqrt(variance) * node[:, None]
            log_p = jnp.stack(self.log_probabilities(f, jnp.zeros_like(f)))
            return total - jnp.sum(jnp.exp(log_p) * log_p, axis=0), None

        nodes = jnp.asarray(even_nodes(len(mean), _NODES), mean.dtype)
        return lax.scan(add, jnp.zeros_like(mean[0]), nodes)[0] / _NODES
