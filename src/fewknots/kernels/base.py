"""What every kernel is: a covariance, its diagonal, positive parameters, and scikit-learn's
`get_params` / `set_params`.

A kernel is a small dataclass and a JAX pytree. Its leaves are its parameters, all positive, so
`jax.tree.map(jnp.log, kernel)` is the same kernel in the unconstrained coordinates that the
optimisers work in. A parameter left at None is chosen from the data by `prepared`.
"""

import dataclasses
from typing import Any, dataclass_transform

import jax
import numpy as np
from jaxtyping import Float

from ..numerics import pytrees
from ..numerics.arrays import AnyArray


@dataclass_transform(eq_default=False)
class Kernel:
    """Base of all kernels; `kernel(A, B)` is the matrix k(a_i, b_j)."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Every subclass becomes a dataclass and a pytree; `ard` is structure, not a leaf."""
        super().__init_subclass__(**options)
        dataclasses.dataclass(eq=False, repr=False)(cls)
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        pytrees.register(
            cls,
            leaves=tuple(name for name in names if name != "ard"),
            structure=tuple(name for name in names if name == "ard"),
        )

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        raise NotImplementedError

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        """k(a_i, a_i), without the matrix."""
        raise NotImplementedError

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        """A copy with every parameter a checked float array, ready to be optimised.

        `spread` is each input's standard deviation: what is None gets its value from it.
        """
        raise NotImplementedError

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        """The distance over which the function bends, per input; None if it has none."""
        return None

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
        """Only what differs from the defaults, arrays in four digits."""
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if np.ndim(value) > 0 or value != field.default:
                shown.append(f"{field.name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def one_per_input(kernel: Kernel, ard: bool) -> bool:
    """Whether this part of a kernel has a parameter for each input."""
    if not isinstance(kernel.ard, bool | np.bool_):  # type: ignore[attr-defined]
        label = f"{type(kernel).__name__}.ard"
        raise ValueError(f"{label} must be True or False, got {kernel.ard!r}.")  # type: ignore[attr-defined]
    return bool(ard and kernel.ard)  # type: ignore[attr-defined]


def positive_parameter(
    kernel: Kernel, name: str, default: Any, size: int | None
) -> Float[np.ndarray, "..."]:
    """The parameter as a checked array: of `size` values if given, otherwise a single one."""
    value = getattr(kernel, name)
    label = f"{type(kernel).__name__}.{name}"
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        array = np.asarray(default if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{label} must be a number or an array, got {plain!r}.") from None
    if not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise ValueError(f"{label} must be positive and finite, got {plain!r}.")
    if array.ndim > 1 or (array.ndim == 1 and array.size not in (1, size)):
        wanted = "one value" if size is None else f"one value or {size}, one per input"
        raise ValueError(f"{label} must have {wanted}, got an array of shape {array.shape}.")
    if size is None:
        return array.reshape(())
    return np.broadcast_to(array, (size,)).copy()


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray | jax.Array):
        return np.array2string(np.asarray(value), precision=4, separator=", ", threshold=20)
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
