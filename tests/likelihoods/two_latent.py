"""Likelihoods of two latent functions, for tests."""

from typing import Any, ClassVar

import jax.numpy as jnp

from fewknots.likelihoods import Expectations, Likelihood, Pointwise, Tilted
from fewknots.numerics.elementary import exp
from fewknots.numerics.quadrature import expect


class Heteroscedastic(Likelihood):
    """y ~ N(f, s·eᵍ): noise that is a function of the inputs, too.

    With f ~ N(μ, v), g ~ N(η, u), r = (y - μ)² + v and e = E[e⁻ᵍ]/s = exp(-η + u/2)/s

        E[log p] = -½ (log 2πs + η + r e).
    """

    n_latent: ClassVar = 2
    scale: Any = 1.0

    def expectations(self, y, mean, variance):
        e = exp(-mean[1] + 0.5 * variance[1]) / self.scale
        r = jnp.square(y - mean[0]) + variance[0]
        log_prob = -0.5 * (jnp.log(2.0 * jnp.pi * self.scale) + mean[1] + r * e)
        return Expectations(
            log_prob,
            jnp.stack([(y - mean[0]) * e, -0.5 + 0.5 * r * e]),
            jnp.stack([e, 0.5 * r * e]),
            jnp.stack([jnp.zeros_like(e), 0.25 * r * e]),
        )

    def at(self, y, f):
        log_prob, slope, curvature, _ = self.expectations(y, f, jnp.zeros_like(f))
        return Pointwise(log_prob, slope, curvature, jnp.stack([0.0 * f[0], -curvature[1]]))

    def tilted(self, y, mean, variance):
        """Of a held-out row only the probability is asked for."""

        def density(g):
            total = variance[0] + self.scale * exp(g)
            return (exp(-0.5 * jnp.square(y - mean[0]) / total) / jnp.sqrt(2 * jnp.pi * total),)

        (p,) = expect(density, mean[1], variance[1])
        return Tilted(jnp.log(p), jnp.zeros_like(mean), jnp.zeros_like(mean))


class Pair(Likelihood):
    """log p(y|f, g) = log p₁(y|f) + log p₂(y|g): two fits in one."""

    n_latent: ClassVar = 2
    first: Any
    second: Any

    def _both(self, name, y, *latent):
        one, other = (
            getattr(part, name)(y, *(values[i : i + 1] for values in latent))
            for i, part in enumerate((self.first, self.second))
        )
        pairs = zip(one[1:], other[1:], strict=True)
        return type(one)(one.log_prob + other.log_prob, *map(jnp.concatenate, pairs))

    def expectations(self, y, mean, variance):
        return self._both("expectations", y, mean, variance)

    def at(self, y, f):
        return self._both("at", y, f)

    def tilted(self, y, mean, variance):
        return self._both("tilted", y, mean, variance)
