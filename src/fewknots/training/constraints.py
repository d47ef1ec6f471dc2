r"""Constraints on a kernel's parameters, in the coordinates that optimisers move.

kernels/constraints.py is what the user writes. Here it is arrays, one for each parameter, which
travel with what an optimiser must not move (parameters.py). With x = log θ:

- Within a range: optimisers with limits keep x inside by themselves, the others are put back to
  the nearest end after each step (`inside`). There exp(log θ) is the end to the last digit, and
  not the next number to it (`within`).
- Fixed is a range of one value, and the derivative with respect to x is zero.
- A prior N(log median, spread²) of x adds to the objective

      log p(x) = -½ Σ (x - log median)² / spread² + const.                                      (1)
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import Kernel
from ..kernels.constraints import Constraint
from ..numerics.fields import Positive


class Constraints(NamedTuple):
    """Kernels that hold, instead of each parameter, what is known of it."""

    low: Kernel
    high: Kernel
    median: Kernel
    precision: Kernel  # 1/spread², 0 without a prior


def constraints_of(kernel: Kernel, start: Kernel) -> Constraints | None:
    """What the user's `kernel` says of the parameters of `start`; None if nothing.

    start : the kernel that training begins with, all its parameters arrays.
    """
    if not _has_constraints(kernel):
        return None
    return Constraints(*(_each(kernel, start, i) for i in range(len(Constraints._fields))))


def _has_constraints(kernel: Kernel) -> bool:
    values = kernel.get_params(deep=False).values()
    return any(
        _has_constraints(v) if isinstance(v, Kernel) else isinstance(v, Constraint) for v in values
    )


def _each(kernel: Kernel, start: Kernel, i: int) -> Kernel:
    if type(kernel) is not type(start):
        raise ValueError(
            f"warm_start=True continues with the kernel {start!r}, to which the constraints of "
            f"{kernel!r} do not belong. Set warm_start=False to begin anew."
        )
    values = start.get_params(deep=False)
    for name, role in start.roles.items():
        given, value = getattr(kernel, name), values[name]
        if isinstance(value, Kernel):
            values[name] = _each(given, value, i)
        elif isinstance(role, Positive):
            known = given if isinstance(given, Constraint) else Constraint()
            number = np.asarray((*known.range, *known.prior)[i], value.dtype)
            values[name] = np.broadcast_to(number, np.shape(value)).copy()
    return type(start)(**values)


def within(kernel: Kernel, constraints: Constraints) -> Kernel:
    """The kernel in its ranges, for logarithms in their limits; fixed parameters have no slope."""

    def one(value, low, high):
        moving = jnp.where(low < high, value, low)
        return moving + jax.lax.stop_gradient(jnp.clip(value, low, high) - moving)

    return jax.tree.map(one, kernel, constraints.low, constraints.high)


def inside(logs: Kernel, constraints: Constraints) -> Kernel:
    """The logarithms, each put back to the nearest end of its range."""

    def one(x, low, high):
        return jnp.clip(x, jnp.log(low), jnp.log(high))

    return jax.tree.map(one, logs, constraints.low, constraints.high)


def log_prior(logs: Kernel, constraints: Constraints) -> tuple[Any, Kernel]:
    """Eq. (1) without its constant, and its gradient."""
    off = jax.tree.map(lambda x, median: x - jnp.log(median), logs, constraints.median)
    slope = jax.tree.map(lambda off, precision: -precision * off, off, constraints.precision)
    parts = jax.tree.map(lambda off, slope: 0.5 * jnp.sum(off * slope), off, slope)
    return sum(jax.tree.leaves(parts)), slope
