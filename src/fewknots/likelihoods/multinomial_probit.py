r"""Any number of classes by unit noise: y = argmax_c g_c, g_c = f_c + N(0, 1).

With the value s of the largest g, each integral is over one number (Girolami & Rogers 2006):

    p(y = c|f) = ∫ φ(s - f_c) Π_{j≠c} Φ(s - f_j) ds,

and with f_j ~ N(m_j, v_j) integrated out it is the same with g_j ~ N(m_j, 1 + v_j): the probability
that g_c is the largest (numerics/largest.py). Of two classes it is Φ((f_1 - f_0)/√2), the probit of
(f_1 - f_0)/√2, whose kernel is that of f_0 and f_1.
"""

from typing import ClassVar

import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Real

from ..numerics.fields import setting
from ..numerics.largest import log_largest
from .base import Likelihood


class MultinomialProbit(Likelihood):
    """`n_classes` classes, each with a latent function; y is the code of the class."""

    targets: ClassVar = "classes"
    largest_leads: ClassVar = True
    n_classes: int = setting(3)

    @property
    def n_latent(self) -> int:
        """One for each class."""
        return self.n_classes

    @staticmethod
    def encoded(codes: Real[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """The codes themselves, 0, 1, ..., as numbers."""
        return np.asarray(codes, np.float64)

    def log_probabilities(
        self, mean: Float[Array, "C N"], variance: Float[Array, "C N"]
    ) -> tuple[Float[Array, " N"], ...]:
        """Each is a logarithm from the start, so none underflows to log 0."""
        log_p = log_largest(mean, 1.0 + variance)
        return tuple(log_p - logsumexp(log_p, axis=0))  # which is 0 but for the rule's own error
