"""Constraints on a kernel's parameters.

    RBF(lengthscale=Fixed(2.0))                          2, not learned
    RBF(lengthscale=Bounded(0.1, 10.0))                  learned, stays between 0.1 and 10
    RBF(lengthscale=LogNormal(median=1.0, spread=0.5))   learned, with a prior

A constraint is given in place of the number. If the parameter has one value for each input, it
holds for all of them. `Kernel.prepared` replaces it by the number at which training starts;
training/parameters.py applies it during training.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

_LEAST_SPREAD = 1e-6  # about the rounding error of a logarithm in float32
Numbers = float | tuple[float, ...]


class Constraint:
    """The range of a parameter, and a Gaussian prior for its logarithm."""

    @property
    def range(self) -> tuple[Numbers, Numbers]:
        """Lowest and highest value."""
        return 0.0, np.inf

    @property
    def prior(self) -> tuple[Numbers, Numbers]:
        """Median, and precision of the logarithm (1 / variance); precision 0 means no prior."""
        return 1.0, 0.0

    def begin(self, default: Any) -> Any:
        """Start of training; `default` is the start without a constraint."""
        raise NotImplementedError


@dataclass(frozen=True)
class Fixed(Constraint):
    """A parameter that is not learned.

    value : positive number, or one for each input.

    Examples
    --------
    >>> from fewknots.kernels import RBF, Fixed
    >>> RBF(lengthscale=2.0, variance=Fixed(1.0))  # only the lengthscale is learned
    RBF(lengthscale=2, variance=Fixed(value=1.0))
    """

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _one_or_each("Fixed.value", self.value))

    @property
    def range(self) -> tuple[Numbers, Numbers]:
        return self.value, self.value

    def begin(self, default: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class Bounded(Constraint):
    """A parameter that is learned and stays within a range, both ends included.

    low, high : positive numbers.
    start : a number between them; None means the kernel's default start, moved into the range.

    Examples
    --------
    >>> from fewknots.kernels import RBF, Bounded
    >>> RBF(lengthscale=Bounded(0.1, 10.0, start=1.0))
    RBF(lengthscale=Bounded(low=0.1, high=10.0, start=1.0))
    """

    low: Any
    high: Any
    start: Any = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _positive(f"Bounded.{name}", getattr(self, name)))
        if not self.low < self.high:
            raise ValueError(
                f"Bounded.low must be less than Bounded.high, got {self.low} and {self.high}. "
                "For a parameter that must not move write Fixed(value)."
            )
        if self.start is not None:
            start = _positive("Bounded.start", self.start)
            if not self.low <= start <= self.high:
                raise ValueError(
                    f"Bounded.start must lie between {self.low} and {self.high}, got {start}."
                )
            object.__setattr__(self, "start", start)

    @property
    def range(self) -> tuple[Numbers, Numbers]:
        return self.low, self.high

    def begin(self, default: Any) -> Any:
        return np.clip(default, self.low, self.high) if self.start is None else self.start


@dataclass(frozen=True)
class LogNormal(Constraint):
    """A parameter θ that is learned, with the prior log θ ~ N(log median, spread²).

    Training adds -½ ((log θ - log median) / spread)² to its objective. This is the density of log θ
    (not of θ), the coordinate that the optimiser uses, so that a wide prior changes nothing.

    median : positive number, or one for each input.
    spread : positive number, the standard deviation of log θ. With 0.5, θ is between 0.37 and 2.7
        times the median with a probability of 95%.
    start : positive number; None means the median.

    Examples
    --------
    >>> from fewknots.kernels import RBF, LogNormal
    >>> RBF(lengthscale=LogNormal(median=1.0, spread=0.5))
    RBF(lengthscale=LogNormal(median=1.0, spread=0.5, start=None))
    """

    median: Any
    spread: Any
    start: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "median", _one_or_each("LogNormal.median", self.median))
        object.__setattr__(self, "spread", _positive("LogNormal.spread", self.spread))
        if self.spread < _LEAST_SPREAD:
            raise ValueError(
                f"LogNormal.spread must be at least {_LEAST_SPREAD}, got {self.spread}. For a "
                "parameter that must not move write Fixed(value)."
            )
        if self.start is not None:
            object.__setattr__(self, "start", _positive("LogNormal.start", self.start))

    @property
    def prior(self) -> tuple[Numbers, Numbers]:
        return self.median, self.spread**-2

    def begin(self, default: Any) -> Any:
        return self.median if self.start is None else self.start


CONSTRAINTS: dict[str, type[Constraint]] = {c.__name__: c for c in (Fixed, Bounded, LogNormal)}


def _one_or_each(label: str, value: Any) -> Numbers:
    """A positive number, or several of them as a tuple."""
    given = value.tolist() if hasattr(value, "tolist") else value
    each = given if isinstance(given, list | tuple) else [given]
    values = tuple(_positive(label, one) for one in each)
    if not values:
        raise ValueError(f"{label} must be a number or one for each input, got none.")
    return values if len(values) > 1 else values[0]


def _positive(label: str, value: Any) -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not (is_number and 0.0 < plain <= sys.float_info.max):
        raise ValueError(f"{label} must be a positive and finite number, got {plain!r}.")
    return float(plain)
