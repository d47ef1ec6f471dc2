r"""A combination of posteriors: the weighted average of their latent functions.

    f(x) = Σ_k w_k f_k(x),     w_k ≥ 0,  Σ_k w_k = 1,

    μ(x) = Σ_k w_k μ_k(x),     σ²(x) = Σ_k w_k σ_k²(x).

The members have learned from the same rows, so the correlation of their errors is unknown. The
variance here is an upper bound: Var Σ w_k f_k ≤ (Σ w_k σ_k)² ≤ Σ w_k σ_k². The first step assumes
perfect correlation, the second is Jensen's inequality. So a combination is never more certain than
its members on average, and a combination of equal members is equal to each of them.

| symbol   | name here | shape |
|----------|-----------|-------|
| w        | weights   | K     |
| μ_k, σ_k²| marginals | L×N   |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .data.blocks import map_blocks
from .kernels import Kernel
from .numerics.precision import computing_in, for_platform
from .posterior import Posterior, Then

# Cost of calling a compiled function, in rows.
_CALL = {"cpu": 32, "gpu": 8192}

Latent = tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]


def averaged(members: Sequence[Latent], weights: Sequence[float]) -> Latent:
    """Mean and variance of the average, from those of the members."""
    parts = list(zip(members, weights, strict=True))
    mean, variance = (
        sum(weight * member[which].astype(np.float64) for member, weight in parts)
        for which in (0, 1)
    )
    return np.asarray(mean), np.asarray(variance)


@dataclass(frozen=True)
class CombinedPosterior:
    """Posteriors of the same latent functions, with weights; the largest weight comes first."""

    members: tuple[Posterior, ...]
    weights: tuple[float, ...]

    @property
    def kernel(self) -> Kernel:
        """The kernel of the member with the largest weight."""
        return self.members[0].kernel

    @property
    def points(self) -> Float[np.ndarray, "M D"]:
        """The points of the member with the largest weight."""
        return self.members[0].points

    def marginals(self, X: Float[np.ndarray, "N D"]) -> Latent:
        """Mean and variance of each latent function at each row."""
        return averaged([member.marginals(X) for member in self.members], self.weights)

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """Evaluate the members one after the other, then the result in blocks of rows."""
        mean, variance = self.marginals(X)

        def of_block(mean: Any, variance: Any) -> tuple[Any, ...]:
            return then(mean.T, variance.T)

        with computing_in(np.dtype(np.float64)):
            return map_blocks(of_block, mean.T, variance.T, call=for_platform(_CALL))

    def arrays(self) -> dict[str, np.ndarray]:
        """The members' arrays; names start with the number of the member."""
        return {
            f"{number}.{name}": array
            for number, member in enumerate(self.members)
            for name, array in member.arrays().items()
        }
