"""Checks of constructor arguments, made in `fit`, with messages that say what to pass instead."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..data.targets import shown


def one_of(name: str, value: Any, allowed: Collection[str]) -> None:
    """A text out of a few."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {shown(value)}.")


def whole_number(name: str, value: Any, least: int) -> None:
    """An int (not a bool) of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}.")


def number(name: str, value: Any, *, positive: bool) -> None:
    """A finite real number, positive or at least zero."""
    fits = (
        isinstance(value, Real)
        and not isinstance(value, bool | np.bool_)
        and np.isfinite(float(value))
        and (float(value) > 0 if positive else float(value) >= 0)
    )
    if not fits:
        wanted = "a positive number" if positive else "a number of at least 0"
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}.")


def switch(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
