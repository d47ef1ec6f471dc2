"""A likelihood with a parameter of its own, for tests: two classes, p(y|f) = s(y a f)."""

from typing import Any

from fewknots.likelihoods import Bernoulli, Expectations, Likelihood, Pointwise, Tilted


class Sharpened(Likelihood):
    """With g = log s the n-th derivative of g(a f) is aⁿ times that of g at a f."""

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
