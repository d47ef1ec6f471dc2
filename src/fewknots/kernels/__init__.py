"""Covariance functions, and their sums and products."""

from .base import Kernel
from .combine import KERNELS, Product, Sum, as_kernel
from .linear import Constant, Linear
from .stationary import RBF, Matern12, Matern32, Matern52

__all__ = [
    "KERNELS",
    "RBF",
    "Constant",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Product",
    "Sum",
    "as_kernel",
]
