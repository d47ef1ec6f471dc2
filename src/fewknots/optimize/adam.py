"""Adam (Kingma & Ba 2015): steps whose length does not depend on the scale of the gradient.

Running averages of the gradient and of its square are kept for each parameter, and corrected for
their start at zero. This is optax's `scale_by_adam`, to the last digit. A local fit needs nothing
else from optax, which takes a quarter of a second to import.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from ..numerics.arrays import AnyArray

_DECAY, _DECAY_OF_SQUARES = 0.9, 0.999
_LEAST = 1e-8  # added to the square root


class Averages(NamedTuple):
    """The state of Adam: the number of steps, and averages shaped like the parameters."""

    count: Int[AnyArray, ""]
    mu: Any  # of gradients
    nu: Any  # of their squares


def at_rest(tree: Any) -> Averages:
    """The state before the first step."""

    def zeros() -> Any:
        return jax.tree.map(np.zeros_like, tree)

    return Averages(np.zeros((), np.int32), zeros(), zeros())


def direction(gradient: Any, before: Averages) -> tuple[Any, Averages]:
    """The direction of a step, to be multiplied by the rate, and the new state."""
    count = before.count + 1
    mu = _averaged(gradient, before.mu, _DECAY)
    nu = _averaged(jax.tree.map(jnp.square, gradient), before.nu, _DECAY_OF_SQUARES)
    step = jax.tree.map(
        lambda m, v: m / (jnp.sqrt(v) + _LEAST),
        _without_start(mu, _DECAY, count),
        _without_start(nu, _DECAY_OF_SQUARES, count),
    )
    return step, Averages(count, mu, nu)


def _averaged(new: Any, old: Any, decay: float) -> Any:
    return jax.tree.map(lambda n, o: (1.0 - decay) * n + decay * o, new, old)


def _without_start(average: Any, decay: float, count: Any) -> Any:
    share = 1.0 - decay**count
    return jax.tree.map(lambda a: a / share.astype(a.dtype), average)
