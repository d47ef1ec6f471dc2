"""A likelihood with a parameter of its own, for tests: two classes, p(y|f) = s(y a f)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from fewknots.likelihoods import Bernoulli, Expectations, Pointwise, Tilted
from fewknots.numerics import pytrees


@partial(pytrees.register, leaves=("sharpness",))
@dataclass(frozen=True)
class Sharpened:
    """With g = log s the n-th derivative of g(a f) is aⁿ times that of g at a f."""

    n_latent: ClassVar = 1
    sharpness: Any

    def _scaled(self, kind, derivatives, orders):
        powers = (self.sharpness**order for order in orders)
        return kind(*(power * column for power, column in zip(powers, derivatives, strict=True)))

    def expectations(self, y, mean, variance):
        a = self.sharpness
        inner = Bernoulli("logit").expectations(y, a * mean, a**2 * variance)
        return self._scaled(Expectations, inner, (0, 1, 2, 4))

    def at(self, y, f):
        return self._scaled(Pointwise, Bernoulli("logit").at(y, self.sharpness * f), (0, 1, 2, 3))

    def tilted(self, y, mean, variance):
        a = self.sharpness
        inner = Bernoulli("logit").tilted(y, a * mean, a**2 * variance)
        return self._scaled(Tilted, inner, (0, 1, 2))
