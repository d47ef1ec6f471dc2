"""What inference asks of a likelihood, whatever the likelihood is.

A likelihood p(y|f) speaks of L latent functions, `n_latent`, which are independent under the prior
and under q. Their axis comes first: what is said of y or of a whole row has shape (N,), what is
said of each function (L, N). Derivatives are for one function at a time, none is mixed.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Float


class Expectations(NamedTuple):
    """Expectations of log p(y|f) and of its derivatives under f_l ~ N(μ_l, σ_l²).

    | field            | symbol                         | is also                |
    |------------------|--------------------------------|------------------------|
    | log_prob         | E[log p]                       | the row's bound term   |
    | slope            | α = E[(log p)']                | ∂ log_prob / ∂μ        |
    | curvature        | β = -E[(log p)'']              | -2 ∂ log_prob / ∂σ²    |
    | curvature_change | ½ E[-(log p)'''']              | ∂β / ∂σ²               |
    """

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]
    curvature: Float[Array, "L N"]
    curvature_change: Float[Array, "L N"]


class Pointwise(NamedTuple):
    """log p(y|f) and its derivatives for each f_l, at one f per row."""

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]  # (log p)'
    curvature: Float[Array, "L N"]  # -(log p)''
    curvature_slope: Float[Array, "L N"]  # -(log p)'''


class Tilted(NamedTuple):
    """log Ẑ = log E[p(y|f)], f_l ~ N(μ_l, σ_l²), and its derivatives for each μ_l."""

    log_prob: Float[Array, " N"]
    slope: Float[Array, "L N"]  # ∂ log Ẑ / ∂μ
    curvature: Float[Array, "L N"]  # -∂² log Ẑ / ∂μ²


@runtime_checkable
class Likelihood(Protocol):
    """p(y|f) of one row. Implementations are pytrees whose leaves are learnable parameters."""

    n_latent: ClassVar[int]

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Expectations:
        """What the variational methods ask."""
        ...

    def at(self, y: Float[Array, " N"], f: Float[Array, "L N"]) -> Pointwise:
        """What Laplace's method asks."""
        ...

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "L N"], variance: Float[Array, "L N"]
    ) -> Tilted:
        """What expectation propagation asks; `log_prob` also scores rows that are held out."""
        ...
