"""Base class of kernels: covariance matrix, diagonal, parameters, `get_params` and `set_params`.

A kernel is a small dataclass and a JAX pytree. Its leaves are its learned parameters, all positive,
so `jax.tree.map(jnp.log, kernel)` is the same kernel in the unconstrained coordinates that the
optimisers use. numerics/fields.py defines the kinds of fields. A parameter that is None gets its
value from the data, in `prepared`. A parameter may also be fixed, bounded or have a prior
(constraints.py).

A kernel must implement its matrix (`__call__`) and its diagonal. The other methods are hooks with a
default: for training and the neighbour search (`input_scale`), for explanations (`moved`), for
draws of functions (`randomness`, `random_functions`) and for ONNX (`onnx_covariance`,
`onnx_diagonal`). docs/extending.md shows how to write a kernel.

A kernel may apply a map to its inputs first (warp.py). Distances are then measured between the
mapped inputs, the *coordinates* of a row: `coordinates` computes them, `inputs_at` is the inverse,
and `input_scale` and `moved` refer to them. For all other kernels the coordinates are the inputs.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.fields import (
    ColumnChoice,
    Positive,
    Role,
    Setting,
    checked_columns,
    checked_parameter,
    checked_setting,
    numbered_columns,
    register,
    roles_of,
)
from .constraints import Constraint


class Moved(NamedTuple):
    """E k(x, x), E k(x, x') and E k(x', x') for a step from x to x' along each input."""

    still: Float[np.ndarray, " D"]
    across: Float[np.ndarray, " D"]
    moved: Float[np.ndarray, " D"]


@dataclass_transform(eq_default=False)  # the functions that declare fields give their defaults
class Kernel:
    """Base of all kernels; `kernel(A, B)` is the matrix k(a_i, b_j).

    With a kernel for each class (per_class.py) it is a stack of C matrices.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from fewknots.kernels import Kernel, positive
    >>> class Brownian(Kernel):
    ...     variance: float = positive(1.0)
    ...     def __call__(self, A, B):
    ...         return self.variance * jnp.minimum(A[:, :1], B[:, :1].T)
    ...     def diagonal(self, A):
    ...         return self.variance * A[:, 0]
    >>> x = np.array([[1.0], [2.0]], np.float32)
    >>> np.asarray(Brownian(2.0)(x, x))
    array([[2., 2.],
           [2., 4.]], dtype=float32)
    """

    roles: ClassVar[dict[str, Role]]
    columns: Any = None  # a kernel over chosen columns declares a field of this name

    def __init_subclass__(cls, **options: Any) -> None:
        """Make every subclass a dataclass and a pytree whose leaves are its learned parameters."""
        super().__init_subclass__(**options)
        dataclasses.dataclass(eq=False, repr=False)(cls)
        cls.roles = roles_of(cls)
        leaves = tuple(name for name, role in cls.roles.items() if isinstance(role, Positive))
        structure = tuple(name for name in cls.roles if name not in leaves)
        register(cls, leaves, structure)

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "*C N M"]:
        raise NotImplementedError

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "*C N"]:
        """k(a_i, a_i), without the matrix."""
        raise NotImplementedError

    # --- the inputs as the kernel sees them -------------------------------------------------------

    may_be_warped: ClassVar[bool] = True  # False for inputs that must not be mapped

    @property
    def of_coordinates(self) -> "Kernel":
        """The kernel as a function of `coordinates`."""
        return self

    def with_inner(self, kernel: "Kernel") -> "Kernel":
        """The same kernel with another function of `coordinates`."""
        return kernel

    def coordinates(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "N D"]:
        """The mapped inputs, between which distances are measured."""
        return A

    def inputs_at(self, W: Float[AnyArray, "N D"]) -> Float[AnyArray, "N D"]:
        """The rows that have these coordinates."""
        return W

    def stretch(self, A: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Derivative of each coordinate with respect to its input, at each row."""
        return np.ones_like(A)

    def without_end(self) -> "Kernel":
        """The same kernel, changed so that every point in coordinates has an input."""
        return self

    def onnx_coordinates(self, X: Any, n_inputs: int) -> Any:
        """`coordinates` of a tensor, as ONNX operations."""
        return X

    @property
    def of_all(self) -> "Kernel":
        """One kernel for all latent functions, for code that looks at rows and not at classes."""
        return self

    def of_latent(self, number: int) -> "Kernel":
        """The kernel of one latent function; with a kernel for each class, the one of this
        class.
        """
        return self

    # --- hooks ------------------------------------------------------------------------------------

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        """The distance over which functions change, for each chosen input; None if there is none.

        The neighbour search and the steps of inducing points use it as their unit.
        """
        return None

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """Covariances of rows that are one step apart, for `explain.kernel_relevance`.

        `mean` and `step` are mean and standard deviation of the rows. The default takes x = mean,
        which is exact for every stationary kernel.
        """
        there = jnp.asarray(mean + np.diag(step))
        here = jnp.asarray(mean[None])
        still = np.asarray(self.diagonal(here), np.float64) * np.ones(len(step))
        across = np.asarray(self(here, there), np.float64)[0]
        return Moved(still, across, np.asarray(self.diagonal(there), np.float64))

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        """The random numbers for `size` of the functions below: a tree of arrays."""
        raise TypeError(no_functions(self, "randomness"))

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        """Independent random functions φ of mean zero with E φ(a) φ(b) = k(a, b), at rows X.

        They need not be Gaussian: pathwise.py adds up `n_functions` of them.
        """
        raise TypeError(no_functions(self, "random_functions"))

    def n_functions(self, n_inputs: int, n_features: int) -> int:
        """How many of them to add up for a nearly Gaussian function; 1 if each one is Gaussian."""
        return n_features

    def onnx_covariance(self, inputs: Any) -> Any:
        """The N×M matrix k(x_n, z_m) as ONNX operations (`inputs`: see export/kernels.py)."""
        raise TypeError(no_onnx(self, "onnx_covariance"))

    def onnx_diagonal(self, inputs: Any) -> Any:
        """k(x_n, x_n) as a column, or a single number if it is the same for all rows."""
        raise TypeError(no_onnx(self, "onnx_diagonal"))

    # --- fields -----------------------------------------------------------------------------------

    def parts(self) -> "list[Kernel]":
        """The elementary kernels of this sum or product, in order."""
        inner = [v for v in self.get_params(deep=False).values() if isinstance(v, Kernel)]
        return [part for kernel in inner for part in kernel.parts()] if inner else [self]

    def chosen(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "N d"]:
        """The columns of A that this kernel uses."""
        if self.columns is None:
            return A
        numbers = checked_columns(self._label("columns"), self.columns, A.shape[1])
        return A[:, np.asarray(numbers)]

    def numbered(self, names: Sequence[str]) -> "Kernel":
        """A copy that chooses its columns by number instead of by name."""
        values = self.get_params(deep=False)
        for name, value in values.items():
            if isinstance(value, Kernel):
                values[name] = value.numbered(names)
        if self.columns is not None:
            label = self._label("columns")
            values["columns"] = numbered_columns(label, self.columns, names)
        return type(self)(**values)

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        """A copy for training: every field is checked, every parameter is a float array.

        `spread` is the standard deviation of each input; parameters that are None start from it.
        """
        ready: dict[str, Any] = {}
        own_spread = spread
        for name, role in self.roles.items():
            value, label = getattr(self, name), self._label(name)
            if isinstance(role, Setting):
                ready[name] = checked_setting(label, role.kind, value)
            elif isinstance(role, ColumnChoice) and value is not None:
                ready[name] = checked_columns(label, value, len(spread))
                own_spread = spread[list(ready[name])]
        for switch in {r.one_per_input for r in self.roles.values() if isinstance(r, Positive)}:
            if switch is not None:
                ready[switch] = bool(ard and ready[switch])
        for name, role in self.roles.items():
            value = getattr(self, name)
            if isinstance(value, Kernel):
                ready[name] = value.prepared(spread, ard)
            elif isinstance(role, Positive):
                each = role.one_per_input is not None and ready[role.one_per_input]
                start = role.default if role.start is None else role.start(own_spread, each)
                size = len(own_spread) if each else None
                if isinstance(value, Constraint):
                    value = value.begin(start)
                elif isinstance(value, list | tuple):
                    _check_no_constraint(self._label(name), value)
                ready[name] = checked_parameter(self._label(name), value, start, size)
        return type(self)(**ready)

    def _label(self, field: str) -> str:
        return f"{type(self).__name__}.{field}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, and with `deep` those of inner kernels as `k1__name`."""
        params: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Kernel):
                params |= {f"{field.name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> "Kernel":
        """Change parameters in place, inner kernels' too: `set_params(k1__lengthscale=2.0)`."""
        valid = self.get_params(deep=False)
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in valid or (inner and not isinstance(valid[own], Kernel)):
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; "
                    f"it has {', '.join(sorted(self.get_params()))}."
                )
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def __add__(self, other: "Kernel | int | float") -> "Kernel":
        from .combine import Sum, as_kernel

        return Sum(self, as_kernel(other))

    def __radd__(self, other: "Kernel | int | float") -> "Kernel":
        from .combine import Sum, as_kernel

        return Sum(as_kernel(other), self)

    def __mul__(self, other: "Kernel | int | float") -> "Kernel":
        from .combine import Product, as_kernel

        return Product(self, as_kernel(other))

    def __rmul__(self, other: "Kernel | int | float") -> "Kernel":
        from .combine import Product, as_kernel

        return Product(as_kernel(other), self)

    def __repr__(self) -> str:
        """Only fields that differ from their defaults, arrays with four digits."""
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if np.ndim(value) > 0 or value != field.default:
                shown.append(f"{field.name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def no_onnx(kernel: Kernel, hook: str) -> str:
    """Error message for a kernel without this ONNX hook."""
    name = type(kernel).__name__
    return f"the kernel {name} cannot be exported to ONNX: the class has no method `{hook}`."


def no_functions(kernel: Kernel, hook: str) -> str:
    """Error message for a kernel without this hook for draws of functions."""
    name = type(kernel).__name__
    return (
        f"cannot draw functions with the kernel {name}: the class has no method `{hook}` "
        "(docs/extending.md). `sample_latent` draws values at given rows, without this method."
    )


def _check_no_constraint(label: str, values: Sequence[Any]) -> None:
    """Refuse a constraint inside a list of numbers: it would hold for one input alone."""
    for number, value in enumerate(values):
        if isinstance(value, Constraint):
            raise ValueError(
                f"{label} has {value!r} for input {number} alone, but a constraint always holds "
                "for all "
                "inputs of its kernel. Multiply kernels that use one input each, as in "
                "RBF(columns=[0], lengthscale=Fixed(0.7)) * RBF(columns=[1], variance=Fixed(1.0))."
            )


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray | jax.Array):
        return np.array2string(np.asarray(value), precision=4, separator=", ", threshold=20)
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


# --- values for chosen columns, for every input ---------------------------------------------------


def over_inputs(
    kernel: Kernel, values: Float[AnyArray, "..."], n_inputs: int, elsewhere: Any
) -> Float[AnyArray, " D"]:
    """Expand values for a kernel's chosen columns to one value for each input.

    elsewhere : value for the other inputs, a single number or one for each input.
    """
    xp = jnp if isinstance(values, jax.Array) else np
    if kernel.columns is None:
        return xp.broadcast_to(values, (n_inputs,))
    chosen = np.asarray(kernel.columns)
    place = np.zeros(n_inputs, int)
    place[chosen] = np.arange(len(chosen))
    own = xp.broadcast_to(values, (len(chosen),))[place]
    return xp.where(np.isin(np.arange(n_inputs), chosen), own, elsewhere)


def scale_of_inputs(
    kernel: Kernel, n_inputs: int, elsewhere: float
) -> Float[AnyArray, "..."] | None:
    """`input_scale` of a sum or product, for each input; None if no part has one.

    If several parts use an input, the first one decides. `elsewhere` is the scale of inputs that no
    such part uses. A single number holds for all inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RBF, scale_of_inputs
    >>> scale_of_inputs(RBF(lengthscale=np.array([1.0, 2.0])), 2, elsewhere=1.0)
    array([1., 2.])
    """
    found = None
    for part in reversed(kernel.parts()):
        scale = part.input_scale()
        if scale is None:
            continue
        if part.columns is None:
            found = scale
        else:
            found = over_inputs(part, scale, n_inputs, elsewhere if found is None else found)
    return found
