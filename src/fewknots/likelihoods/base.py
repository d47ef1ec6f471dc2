"""The interface of likelihoods: all code about y is in the likelihood's file.

A likelihood p(y|f) is a small dataclass (the base class makes it one) and a JAX pytree. Its fields
are learned positive parameters, `positive(1.0)`, or fixed settings of the user,
`setting("probit")`. The learned ones are the leaves: every trainer optimises their logarithms,
with derivatives that JAX takes of `expectations`, `at` or `tilted`. A model file contains the name
of the class and the fields.

It has L latent functions, `n_latent`, which are independent under the prior and under q. Their axis
comes first: values for a row have shape (N,), values for each function (L, N). Derivatives are with
respect to one function at a time; there are no mixed ones.

| used by                          | method                           | required                  |
|----------------------------------|----------------------------------|---------------------------|
| estimators, before a fit         | `targets`, `encoded`, `prepared` | `targets`                 |
| the regressor, standardising y   | `any_scale`, `rescaled`          | if y has no fixed unit    |
| sparse_kl, full_kl               | `expectations`                   | yes                       |
| Laplace, two_stage               | `at`                             | for these                 |
| Laplace, if `shift_invariant`    | `at_free_shift`                  | for this                  |
| EP, FITC-EP, IVM, rows held out  | `tilted`                         | for these                 |
| mean field, of several functions | `largest_leads`                  | for these                 |
| predictions of classes           | `log_probabilities`, `decision`  | with targets = "classes"  |
| `acquire.bald`                   | `conditional_entropy`            | for these                 |
| predictions of numbers           | `moments`                        | with targets = "numbers"  |
| quantiles of numbers             | `predictive_cdf`, or `quantiles` | for these                 |
| samples of numbers               | `sampled`                        | for these                 |
"""

import dataclasses
from typing import Any, ClassVar, Literal, NamedTuple, dataclass_transform

import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from ..numerics.fields import (
    Positive,
    Role,
    Setting,
    checked_parameter,
    checked_setting,
    register,
    roles_of,
)
from .quantiles import Support, inverted


class Expectations(NamedTuple):
    """Expectations of log p(y|f) and of its derivatives under f_l ~ N(μ_l, σ_l²).

    | field            | symbol                         | is also                |
    |------------------|--------------------------------|------------------------|
    | log_prob         | E[log p]                       | the row's bound term   |
    | slope            | α = E[(log p)']                | ∂ log_prob / ∂μ        |
    | curvature        | β = -E[(log p)'']              | -2 ∂ log_prob / ∂σ²    |
    | curvature_change | ½ E[-(log p)'''']              | ∂β / ∂σ²               |

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from fewknots.likelihoods import Gaussian
    >>> y, mean = jnp.ones(1), jnp.zeros((1, 1))
    >>> found = Gaussian(1.0).expectations(y, mean, 1.0 + mean)
    >>> float(found.slope[0, 0]), float(found.curvature[0, 0])  # y - μ, and 1 / noise
    (1.0, 1.0)
    """

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]
    curvature: Float[Array, "L N"]
    curvature_change: Float[Array, "L N"]


class Pointwise(NamedTuple):
    """log p(y|f) and its derivatives for each f_l, at one f per row.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from fewknots.likelihoods import Bernoulli
    >>> one, zero = jnp.ones(1), jnp.zeros((1, 1))
    >>> float(Bernoulli("logit").at(one, zero).slope[0, 0])  # 1 - p
    0.5
    """

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]  # (log p)'
    curvature: Float[Array, "L N"]  # -(log p)''
    curvature_slope: Float[Array, "L N"]  # -(log p)'''


class Tilted(NamedTuple):
    """log Ẑ = log E[p(y|f)], f_l ~ N(μ_l, σ_l²), and its derivatives for each μ_l.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from fewknots.likelihoods import Bernoulli
    >>> one, zero = jnp.ones(1), jnp.zeros((1, 1))
    >>> jnp.exp(Bernoulli().tilted(one, zero, 1.0 + zero).log_prob).round(2)  # E[Φ(f)]
    Array([0.5], dtype=float32)
    """

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]  # ∂ log Ẑ / ∂μ
    curvature: Float[Array, "L N"]  # -∂² log Ẑ / ∂μ²


@dataclass_transform(frozen_default=True)  # the functions that declare fields give their defaults
class Likelihood:
    """Base of all likelihoods.

    Examples
    --------
    >>> from fewknots.likelihoods import LIKELIHOODS, Poisson
    >>> LIKELIHOODS["poisson"] is Poisson
    True
    """

    targets: ClassVar[Literal["classes", "numbers"]] = "numbers"
    any_scale: ClassVar[bool] = False  # y may be shifted and scaled, and the first f_l with it
    log_concave: ClassVar[bool] = True  # log p is concave in each f_l: no curvature below zero
    quadratic: ClassVar[bool] = False  # log p is a parabola in f: constant curvature
    curved: ClassVar[bool] = True  # -(log p)'' is nowhere zero where (log p)' is not
    support: ClassVar[Support] = "real"  # for numbers: the range of y
    shift_invariant: ClassVar[bool] = False  # only differences of latent functions matter
    largest_leads: ClassVar[bool] = False  # y is the largest function, each with unit noise
    roles: ClassVar[dict[str, Role]]

    def __init_subclass__(cls, **options: Any) -> None:
        """Make every subclass a dataclass and a pytree whose leaves are its learned parameters."""
        super().__init_subclass__(**options)
        dataclasses.dataclass(frozen=True)(cls)
        cls.roles = roles_of(cls)
        leaves = tuple(name for name, role in cls.roles.items() if isinstance(role, Positive))
        register(cls, leaves, tuple(name for name in cls.roles if name not in leaves))

    @property
    def n_latent(self) -> int:
        """The number of latent functions."""
        return 1

    # --- targets ----------------------------------------------------------------------------------

    def encoded(self, targets: Any) -> Float[np.ndarray, " N"]:
        """Encode y for the methods below, from finite numbers, or from codes 0, 1, ... of classes.

        Refuses values without a probability, with an error that names the row.
        """
        return np.asarray(targets, np.float64)

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Likelihood":
        """A copy with every field checked and every parameter an array, ready to be optimised.

        Parameters that are None can get their initial values from y here.
        """
        ready = {}
        for name, role in self.roles.items():
            value, label = getattr(self, name), f"{type(self).__name__}.{name}"
            if isinstance(role, Setting):
                ready[name] = checked_setting(label, role.kind, value)
            elif isinstance(role, Positive):
                ready[name] = checked_parameter(label, value, role.default, None)
        return type(self)(**ready)

    def rescaled(self, scale: float) -> "Likelihood":
        """The likelihood of y/scale and f/scale; used only if `any_scale`."""
        return self

    # --- inference --------------------------------------------------------------------------------

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Expectations:
        """Expectations of log p and of its derivatives, for the variational methods."""
        raise NotImplementedError(self._lacks("expectations"))

    def at(self, y: Float[Array, " N"], f: Float[Array, "L N"]) -> Pointwise:
        """Log p(y|f) and its derivatives at one f per row, for Laplace's method."""
        raise NotImplementedError(self._lacks("at"))

    def at_free_shift(self, y: Float[Array, " N"], f: Float[Array, "L N"]) -> Pointwise:
        """For Laplace's method if `shift_invariant`: log p written as max_u Σ_l term_l(f_l - u).

        The derivatives are those of the terms at the best u; the shift accounts for mixed ones.
        """
        raise NotImplementedError(self._lacks("at_free_shift"))

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Tilted:
        """For expectation propagation; `log_prob` also scores held-out rows."""
        raise NotImplementedError(self._lacks("tilted"))

    # --- predictions, f_l ~ N(mean_l, variance_l) integrated out ----------------------------------

    def log_probabilities(
        self, mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> tuple[Float[Array, " N"], ...]:
        """The log probability of each class, in the order of their codes.

        If `shift_invariant`, `variance` may be a covariance, L×L×N: Laplace's method has one.
        """
        raise NotImplementedError(self._lacks("log_probabilities"))

    def decision(
        self, mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Float[Array, " N"]:
        """A number above zero for the second of two classes, on a scale that the likelihood
        chooses.

        Used with one latent function; with several, the log probabilities decide.
        """
        raise NotImplementedError(self._lacks("decision"))

    def conditional_entropy(
        self, mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Float[Array, " N"]:
        """E H[y|f] of classes, in nats: the expected entropy of y given f.

        If `shift_invariant`, `variance` may be a covariance, L×L×N.
        """
        raise NotImplementedError(self._lacks("conditional_entropy"))

    def moments(
        self, mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and variance of y."""
        raise NotImplementedError(self._lacks("moments"))

    def quantiles(
        self,
        mean: Float[Array, "L N"],
        variance: Float[Array, "L N"],
        levels: Float[Array, " Q"],
    ) -> Float[Array, "Q N"]:
        """Quantiles of y; by root finding if there is no formula."""
        start = self.moments(mean, variance)

        def cdf(y):
            return self.predictive_cdf(y, mean, variance)

        return lax.map(lambda level: inverted(self.support, cdf, *start, level), levels)

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Float[Array, " N"]:
        """The probability that y is at most this. For counts, an increasing function between whole
        numbers.
        """
        raise NotImplementedError(self._lacks("predictive_cdf"))

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "L N"]
    ) -> Float[np.ndarray, " N"]:
        """One y for each row, drawn from p(y|f)."""
        raise NotImplementedError(self._lacks("sampled"))

    def _lacks(self, method: str) -> str:
        return f"the likelihood {type(self).__name__} has no method `{method}`, which this needs."


class StrangeNumberError(ValueError):
    """A number has no probability under the likelihood: the message names the row and the
    reason.
    """

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"row {row} of y {reason}")
        self.row, self.reason = row, reason


def refuse_rows(
    strange: Bool[np.ndarray, " N"], y: Float[np.ndarray, " N"], what: str, advice: str
) -> None:
    """Raise an error about the first row whose target has no probability, if there is one."""
    if np.any(strange):
        row = int(np.argmax(strange))
        raise StrangeNumberError(row, f"is {y[row]:g}, which is {what}. {advice}")
