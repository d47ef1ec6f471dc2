"""What inference asks of a likelihood, whatever the likelihood is."""

from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Float


class Expectations(NamedTuple):
    """Expectations of log p(y|f) and of its derivatives under f ~ N(μ, σ²), one per row.

    | field            | symbol                         | is also                |
    |------------------|--------------------------------|------------------------|
    | log_prob         | E[log p]                       | the row's bound term   |
    | slope            | α = E[(log p)']                | ∂ log_prob / ∂μ        |
    | curvature        | β = -E[(log p)'']              | -2 ∂ log_prob / ∂σ²    |
    | curvature_change | ½ E[-(log p)'''']              | ∂β / ∂σ²               |
    """

    log_prob: Float[Array, " N"]
    slope: Float[Array, " N"]
    curvature: Float[Array, " N"]
    curvature_change: Float[Array, " N"]


class Pointwise(NamedTuple):
    """log p(y|f) and its derivatives at one f per row."""

    log_prob: Float[Array, " N"]
    slope: Float[Array, " N"]  # (log p)'
    curvature: Float[Array, " N"]  # -(log p)''
    curvature_slope: Float[Array, " N"]  # -(log p)'''


class Tilted(NamedTuple):
    """log Ẑ = log E[p(y|f)], f ~ N(μ, σ²), and its derivatives for μ, one per row."""

    log_prob: Float[Array, " N"]
    slope: Float[Array, " N"]  # ∂ log Ẑ / ∂μ
    curvature: Float[Array, " N"]  # -∂² log Ẑ / ∂μ²


@runtime_checkable
class Likelihood(Protocol):
    """p(y|f) of one row. Implementations are pytrees whose leaves are learnable parameters."""

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, " N"], variance: Float[Array, " N"]
    ) -> Expectations:
        """What the variational methods ask."""
        ...

    def at(self, y: Float[Array, " N"], f: Float[Array, " N"]) -> Pointwise:
        """What Laplace's method asks."""
        ...

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, " N"], variance: Float[Array, " N"]
    ) -> Tilted:
        """What expectation propagation asks."""
        ...
