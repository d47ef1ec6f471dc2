"""Covariance functions, and their sums and products."""

from .base import Kernel
from .columns import scale_of_inputs
from .combine import KERNELS, Product, Sum, as_kernel
from .fields import column_choice, positive, setting
from .linear import Constant, Linear, Polynomial
from .periodic import Periodic
from .stationary import RBF, Matern12, Matern32, Matern52, RationalQuadratic

__all__ = [
    "KERNELS",
    "RBF",
    "Constant",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Sum",
    "as_kernel",
    "column_choice",
    "positive",
    "scale_of_inputs",
    "setting",
]
