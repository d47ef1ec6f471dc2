r"""The coordinates that optimisers move, and the way back to a model.

Parameters of kernel and likelihood are moved as logarithms, Z in units of the kernel's
lengthscales: there every coordinate of Z bends the bound alike, relevant input or not, and L-BFGS
needs about half the iterations. What must not move is kept, in its own units, in `frozen`.

Of a kernel that warps its inputs (kernels/warp.py) they are coordinates of Z under the warps of the
start: so the points stay among the rows as the warps are learned.

Minibatches keep the lengthscales of the start as Z's unit. Adam does not profit from the moving
one, and suffers from it: an input that turns out irrelevant has a growing lengthscale, which would
carry the points along, away from the data, so that a row is far from all of them however long the
lengthscale is. On the paper's flights, 500 points after 2000 steps, that is a hold-out NLP of 0.581
instead of 0.572.

**Constraints** on the kernel's parameters. kernels/constraints.py is what the user writes. Here it
is arrays, one for each parameter, which travel in `frozen`. With x = log θ:

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
from jaxtyping import Float

from ..kernels import Kernel, scale_of_inputs
from ..kernels.constraints import Constraint
from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray, array_module
from ..numerics.fields import Positive

Named = dict[str, Any]

# Each parameter of the kernel stays within this factor of its start: an irrelevant input's
# lengthscale would otherwise drift to infinity, along a direction in which nothing changes.
_LOG_RANGE = float(np.log(1e5))


class Constraints(NamedTuple):
    """Kernels that hold, instead of each parameter, what is known of it."""

    low: Kernel
    high: Kernel
    median: Kernel
    precision: Kernel  # 1/spread², 0 without a prior


class Model(NamedTuple):
    """What a fit is about; Z is None for methods without inducing points."""

    kernel: Kernel
    Z: Float[AnyArray, "M D"] | None
    likelihood: Likelihood


class Learned(NamedTuple):
    """Which parts of the model may move, and the kernel's how far."""

    kernel: bool
    Z: bool
    likelihood: bool
    constraints: Constraints | None = None  # on the kernel's parameters


def encode(model: Model, learned: Learned, moving_unit: bool = True) -> tuple[Named, Named]:
    """(free, frozen): what the optimiser moves and what it must leave alone.

    moving_unit : whether Z is in units of the lengthscales as they are, or as they are here.
    """
    free: Named = {}
    unit = 1.0 if model.Z is None else _unit(model.kernel, model.Z)
    frozen: Named = {} if moving_unit else {"unit": unit}
    places = model.kernel.without_end()
    is_warped = places.of_coordinates is not places
    if learned.kernel and learned.constraints is not None:
        frozen["constraints"] = learned.constraints
        # a warm start may begin outside of them
        model = model._replace(kernel=within(model.kernel, learned.constraints))
    for name in ("kernel", "likelihood"):
        part = getattr(model, name)
        if getattr(learned, name) and jax.tree.leaves(part):
            free[name] = jax.tree.map(np.log, part)
        else:
            frozen[name] = part
    if learned.Z and model.Z is not None:
        free["Z"] = places.coordinates(model.Z) / unit
        if is_warped:
            frozen["places"] = places
    else:
        frozen["Z"] = model.Z
    return free, frozen


def decode(free: Named, frozen: Named) -> Model:
    """The model that `free` and `frozen` stand for."""
    kernel, likelihood = (
        frozen[name] if name in frozen else jax.tree.map(jnp.exp, free[name])
        for name in ("kernel", "likelihood")
    )
    if "constraints" in frozen:
        kernel = within(kernel, frozen["constraints"])
    if "Z" in frozen:
        return Model(kernel, frozen["Z"], likelihood)
    unit = frozen["unit"] if "unit" in frozen else _unit(kernel, free["Z"])
    Z = free["Z"] * unit
    return Model(kernel, frozen["places"].inputs_at(Z) if "places" in frozen else Z, likelihood)


def add_prior(gradient: Named, free: Named, frozen: Named, share: Any = 1.0) -> tuple[Named, Any]:
    """(gradient, log p): the gradient with that of the kernel's priors added, and their value.

    share : of the data that the gradient is about; as much of the prior goes with it.
    """
    if "constraints" not in frozen:
        return gradient, 0.0
    value, slope = log_prior(free["kernel"], frozen["constraints"])
    d_kernel = jax.tree.map(lambda data, own: data + share * own, gradient["kernel"], slope)
    return gradient | {"kernel": d_kernel}, value


def put_back(free: Named, frozen: Named) -> Named:
    """After a step that knows no limits: the kernel's parameters in their ranges again."""
    if "constraints" not in frozen:
        return free
    return free | {"kernel": inside(free["kernel"], frozen["constraints"])}


def limits(free: Named, frozen: Named) -> tuple[Named, Named]:
    """How far each free parameter may go: logarithms a set range or the user's, others anywhere."""

    def reach(name: str, parameter):
        far = _LOG_RANGE if name in ("kernel", "likelihood") else np.inf
        return jax.tree.map(lambda p: np.full_like(p, far), parameter)

    reaches = {name: reach(name, parameter) for name, parameter in free.items()}
    lowest = jax.tree.map(np.subtract, free, reaches)
    highest = jax.tree.map(np.add, free, reaches)
    return put_back(lowest, frozen), put_back(highest, frozen)


def _unit(kernel: Kernel, Z: Float[AnyArray, "M D"]) -> Float[AnyArray, "..."] | float:
    scale = scale_of_inputs(kernel, Z.shape[1], elsewhere=1.0)
    return 1.0 if scale is None else scale


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
        xp = array_module(value)
        moving, inside = xp.where(low < high, value, low), xp.clip(value, low, high)
        return moving + (inside - moving if xp is np else jax.lax.stop_gradient(inside - moving))

    return jax.tree.map(one, kernel, constraints.low, constraints.high)


def inside(logs: Kernel, constraints: Constraints) -> Kernel:
    """The logarithms, each put back to the nearest end of its range."""

    def one(x, low, high):
        xp = array_module(x)
        with np.errstate(divide="ignore"):  # a range may begin at zero
            return xp.clip(x, xp.log(low), xp.log(high))

    return jax.tree.map(one, logs, constraints.low, constraints.high)


def log_prior(logs: Kernel, constraints: Constraints) -> tuple[Any, Kernel]:
    """Eq. (1) without its constant, and its gradient."""
    xp = array_module(*jax.tree.leaves(logs))
    off = jax.tree.map(lambda x, median: x - xp.log(median), logs, constraints.median)
    slope = jax.tree.map(lambda off, precision: -precision * off, off, constraints.precision)
    parts = jax.tree.map(lambda off, slope: 0.5 * xp.sum(off * slope), off, slope)
    return sum(jax.tree.leaves(parts)), slope
