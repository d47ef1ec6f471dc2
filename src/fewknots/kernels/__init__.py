"""Covariance functions, and their sums and products.

All parameters are positive, and learned from where they start. A parameter can also be kept as it
is, kept within a range, or given a prior:

    RBF(lengthscale=Fixed(2.0))
    RBF(lengthscale=Bounded(0.1, 10.0)) + Constant(variance=Fixed(1.0))
    Periodic(period=LogNormal(median=1.0, spread=0.1), lengthscale=Bounded(0.5, 5.0, start=1.0))

They are in the units that the kernel sees: with `standardize=True`, standard deviations of the
inputs. All ways of training keep to them. A fit's `kernel_` holds the numbers that were found, its
`log_evidence_` and `evidence_gradient_` are those of the evidence without the priors.
"""

from ..numerics.fields import column_choice, positive, setting
from .base import Kernel
from .columns import scale_of_inputs
from .combine import KERNELS, Product, Sum, as_kernel
from .constraints import Bounded, Fixed, LogNormal
from .linear import Constant, Linear, Polynomial
from .periodic import Periodic
from .stationary import RBF, Matern12, Matern32, Matern52, RationalQuadratic

__all__ = [
    "KERNELS",
    "RBF",
    "Bounded",
    "Constant",
    "Fixed",
    "Kernel",
    "Linear",
    "LogNormal",
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
