"""A softmax with a parameter of its own, for tests: p(y = c|f) ∝ exp(f_c / temperature)."""

from typing import Any, ClassVar

from fewknots.likelihoods import Likelihood, Pointwise, Softmax, setting


class Tempered(Likelihood):
    """The n-th derivative of g(f/t) is t⁻ⁿ times that of g at f/t."""

    shift_invariant: ClassVar = True
    temperature: Any
    n_classes: int = setting(3)

    @property
    def n_latent(self):
        return self.n_classes

    def at_free_shift(self, y, f):
        inner = Softmax(self.n_classes).at_free_shift(y, f / self.temperature)
        return Pointwise(*(part / self.temperature**order for order, part in enumerate(inner)))
