"""Covariance functions, and their sums and products.

All parameters are positive. They are learned, and training starts at the given values. A parameter
can also be fixed, bounded, or given a prior:

    RBF(lengthscale=Fixed(2.0))
    RBF(lengthscale=Bounded(0.1, 10.0)) + Constant(variance=Fixed(1.0))
    Periodic(period=LogNormal(median=1.0, spread=0.1), lengthscale=Bounded(0.5, 5.0, start=1.0))

A constraint holds for all inputs of its kernel; `Fixed` and the median of `LogNormal` may be a list
with a number for each. If one input alone is to be constrained, multiply kernels of single inputs;
for RBF the product is the same kernel as one with a lengthscale for each input:

    RBF(columns=[0], lengthscale=Fixed(0.7)) * RBF(columns=[1], variance=Fixed(1.0))

Parameters are in the units of the kernel's inputs: with `standardize=True`, in standard deviations.
All trainers respect these constraints. After a fit, `kernel_` holds the learned numbers;
`log_evidence_` and `evidence_gradient_` do not include the priors.
"""

from ..numerics.fields import column_choice, positive, setting
from .base import Kernel, scale_of_inputs
from .combine import KERNELS, Product, Sum, as_kernel
from .constraints import Bounded, Fixed, LogNormal
from .linear import Constant, Linear, Polynomial
from .per_class import PerClass, as_kernels, count_kernels
from .periodic import Periodic
from .stationary import RBF, Hyperbolic, Matern12, Matern32, Matern52, RationalQuadratic
from .warp import Warp

__all__ = [
    "KERNELS",
    "RBF",
    "Bounded",
    "Constant",
    "Fixed",
    "Hyperbolic",
    "Kernel",
    "Linear",
    "LogNormal",
    "Matern12",
    "Matern32",
    "Matern52",
    "PerClass",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Sum",
    "Warp",
    "as_kernel",
    "as_kernels",
    "column_choice",
    "count_kernels",
    "positive",
    "scale_of_inputs",
    "setting",
]
