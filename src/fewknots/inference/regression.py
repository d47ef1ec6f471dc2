r"""Regression with Gaussian noise: exact GP regression, eq. (titsias) and eq. (svigp).

With p(y|f) = N(y|f, σ²) the sites are known in closed form: b_n = w_n/σ², g_n = w_n y_n/σ². So the
methods for classification need one pass and become

| name    | is                     | evidence                                                      |
|---------|------------------------|---------------------------------------------------------------|
| exact   | full_kl.py, one pass   | log N(y|0, K + σ²I)                                           |
| titsias | sparse_kl.py, one pass | log N(y|0, Q + σ²I) - ½ tr(K - Q)/σ²             eq. (titsias)|
| svi     | sparse_kl.py, any q(u) | eq. (svigp): q(u) is optimised (training/joint.py); at its   |
|         |                        | optimum it is eq. (titsias)                                   |

Cost of an evaluation: exact O(N³), the others O(NM²).
"""

from dataclasses import dataclass
from typing import ClassVar

from ..likelihoods import Gaussian
from .full_kl import FullKL
from .method import Evaluated, Method
from .sites import Rows, Sites
from .sparse_kl import SparseKL


def gaussian_sites(likelihood: Gaussian, rows: Rows) -> Sites:
    """The sites of Gaussian noise: exact, for any prior."""
    precision = (rows.weights / likelihood.noise)[None]
    return Sites(precision, precision * rows.y)


class OnePass(Method):
    """A method that is given the exact sites, and needs one pass."""

    likelihoods: ClassVar[tuple[str, ...] | None] = ("gaussian",)
    several_latent = False

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        sites = gaussian_sites(likelihood, rows)
        once = budget._replace(passes=1)
        return super().evaluate(kernel, Z, likelihood, rows, sites, jitter, once)


@dataclass(frozen=True)
class Exact(OnePass, FullKL):
    """GPRegressor(method="exact")."""

    name = "exact"
    is_bound = False


@dataclass(frozen=True)
class Titsias(OnePass, SparseKL):
    """GPRegressor(method="titsias")."""

    name = "titsias"
    has_q = streams = sums_rows = False  # q(u) is solved for, from all rows at once


@dataclass(frozen=True)
class SVI(SparseKL):
    """GPRegressor(method="svi")."""

    name = "svi"
    optimizer = "lbfgs"  # its optimizer searches for q(u)
