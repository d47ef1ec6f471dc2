r"""Ordered classes: y is the number of cut points below f + noise, the noise N(0, 1).

With cut points c_0 < c_1 < ..., and c_{-1} = -∞, the last one +∞,

    p(y = k|f) = Φ(c_k - f) - Φ(c_{k-1} - f),

with one latent function for any number of classes; for two classes it is the probit of f - c_0.
The cut points are learned through positive parameters, the odds: c_k = log(odds_0 + ... + odds_k)
are in order for any positive numbers.

The difference is written as a product, which is accurate in both tails: with b = c_k - f and
a = c_{k-1} - f,

    log p = log Φ(b) + log Φ(-a) + h,    h = log(1 - eᵗ),
    t = log Φ(a) + log Φ(-b) - log Φ(b) - log Φ(-a) < 0.

Each of the three terms bends at one place: c_k, c_{k-1} and halfway between. So the expectation is
three integrals by quadrature, each with nodes around its own place. For the first and the last
class only one of the first two terms remains. With p = 1/(e⁻ᵗ - 1), p' = p(1+p)t', and primes
for derivatives in f,

    h'    = -p t',
    h''   = -p t'' - p(1+p) t'²,
    h'''  = -p t''' - p(1+p) (3 t't'' + (1+2p) t'³),
    h'''' = -p t'''' - p(1+p) (4 t't''' + 3 t''² + 6(1+2p) t'²t'' + (1+6p+6p²) t'⁴).
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import ndtri

from ..numerics.fields import positive, setting
from ..numerics.quadrature import expect_around
from .base import Expectations, Likelihood, Pointwise, Tilted
from .bernoulli import Bernoulli, probit_derivatives
from .one_function import Derivatives


class Ordinal(Likelihood):
    """`n_classes` classes in order; y is the code of the class.

    odds : differences of the exponentials of the cut points, one fewer than classes; None: training
        starts with classes that are equally likely under a prior of variance one.

    Examples
    --------
    >>> from fewknots import GPClassifier
    >>> clf = GPClassifier(likelihood="ordinal")  # the number of classes is that of y
    >>> from fewknots.likelihoods import Ordinal
    >>> Ordinal(3).n_classes
    3
    """

    targets: ClassVar = "classes"
    link: ClassVar = "probit"  # of each cut point
    n_classes: int = setting(3)
    odds: Any = positive(None)

    @classmethod
    def starting(cls, n_classes: int) -> "Ordinal":
        """The initial odds."""
        shares = np.arange(1, n_classes) / n_classes
        return cls(n_classes, np.diff(np.exp(np.sqrt(2.0) * ndtri(shares)), prepend=0.0))

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Ordinal | Likelihood":
        return self.starting(self.n_classes) if self.odds is None else self

    @property
    def cut_points(self) -> Float[Array, " K"]:
        """c_0, c_1, ..."""
        return jnp.log(jnp.cumsum(jnp.asarray(self.odds)))

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """Two integrals of the probit, and that of h."""
        lower, upper, has_lower, has_upper = self._ends(y)
        one, probit = jnp.ones_like(y), Bernoulli("probit")
        above = probit.expectations(one, mean - lower, variance)
        below = probit.expectations(-one, mean - upper, variance)

        def integrands(f):
            at = _narrowing(lower - f, upper - f)
            return at.log_prob, at.slope, at.curvature, at.half_second_change

        middle = 0.5 * (lower + upper)
        log_prob, *others = expect_around(integrands, mean[0], variance[0], middle, one)
        between = Expectations(log_prob, *(part[None] for part in others))
        inside = has_lower & has_upper
        return Expectations(
            *(
                jnp.where(has_lower, part, 0.0)
                + jnp.where(has_upper, other, 0.0)
                + jnp.where(inside, third, 0.0)
                for part, other, third in zip(above, below, between, strict=True)
            )
        )

    def at(self, y: Float[Array, " N"], f: Float[Array, "1 N"]) -> Pointwise:
        found = self._density(y, f, jnp.ones_like(f))
        return Pointwise(found.log_prob[0], found.slope, found.curvature, found.change)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Tilted:
        """In closed form: noise of variance 1 + σ² instead of 1."""
        found = self._density(y, mean, jnp.sqrt(1.0 + variance))
        return Tilted(found.log_prob[0], found.slope, found.curvature)

    def log_probabilities(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], ...]:
        """Each is a logarithm from the start, so none underflows to log 0."""
        codes = range(self.n_classes)
        return tuple(
            self.tilted(jnp.full_like(mean[0], code), mean, variance).log_prob for code in codes
        )

    def decision(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        """For two classes: Φ⁻¹ of the probability of the second."""
        return ((mean - self.cut_points[0]) / jnp.sqrt(1.0 + variance))[0]

    def _ends(
        self, y: Float[Array, " N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"], Bool[Array, " N"], Bool[Array, " N"]]:
        """The cut points on both sides of each class, and whether they exist.

        A missing one is replaced by some number, so that all values are finite.
        """
        cuts = self.cut_points.astype(y.dtype)
        code = y.astype(np.int32)
        last = self.n_classes - 2
        lower, upper = cuts[jnp.clip(code - 1, 0, last)], cuts[jnp.clip(code, 0, last)]
        has_lower, has_upper = code > 0, code <= last
        some_lower = jnp.where(has_lower, lower, upper - 1.0)
        some_upper = jnp.where(has_upper, upper, lower + 1.0)
        return some_lower, some_upper, has_lower, has_upper

    def _density(
        self, y: Float[Array, " N"], f: Float[Array, "1 N"], deviation: Float[Array, "1 N"]
    ) -> Derivatives:
        """Log p and its derivatives, for noise with this standard deviation."""
        lower, upper, has_lower, has_upper = self._ends(y)
        a, b = (lower - f) / deviation, (upper - f) / deviation
        above, below = probit_derivatives(-a), probit_derivatives(b)
        between = _narrowing(a, b)
        odd = (1.0, -1.0, 1.0, -1.0, 1.0)
        return Derivatives(
            *(
                (
                    jnp.where(has_lower, part, 0.0)
                    + jnp.where(has_upper, sign * other, 0.0)
                    + jnp.where(has_lower & has_upper, third, 0.0)
                )
                / deviation**order
                for order, (sign, part, other, third) in enumerate(
                    zip(odd, above, below, between, strict=True)
                )
            )
        )


def _narrowing(a: Float[Array, "..."], b: Float[Array, "..."]) -> Derivatives:
    """H and its derivatives by f, where a and b fall as f rises."""
    sides = [probit_derivatives(x) for x in (a, -a, b, -b)]
    # g', g'', ... at each of the four
    g = [(s.log_prob, s.slope, -s.curvature, -s.change, -2.0 * s.half_second_change) for s in sides]
    t = []
    for order in range(5):
        at_a, at_minus_a, at_b, at_minus_b = (derivatives[order] for derivatives in g)
        sign = (-1.0) ** order
        t.append(sign * at_a - at_minus_a - sign * at_b + at_minus_b)
    t0, t1, t2, t3, t4 = t
    p = 1.0 / jnp.expm1(-t0)
    q, r = p * (1.0 + p), 1.0 + 2.0 * p
    first = -p * t1
    second = -p * t2 - q * t1**2
    third = -p * t3 - q * (3.0 * t1 * t2 + r * t1**3)
    squares = 4.0 * t1 * t3 + 3.0 * t2**2 + 6.0 * r * t1**2 * t2
    fourth = -p * t4 - q * (squares + (1.0 + 6.0 * q) * t1**4)
    return Derivatives(jnp.log(-jnp.expm1(t0)), first, -second, -third, -0.5 * fourth)
