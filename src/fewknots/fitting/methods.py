"""All methods and optimizers by the names the user knows: a new one is one line here."""

from ..inference.ep import EP
from ..inference.fitc_ep import FitcEP
from ..inference.full_kl import FullKL
from ..inference.ivm import IVM
from ..inference.laplace import Laplace
from ..inference.mean_field import MeanField
from ..inference.method import Method
from ..inference.regression import SVI, Exact, Titsias
from ..inference.sparse_kl import SparseKL
from ..inference.sparse_mean_field import SparseMeanField
from ..inference.two_stage import TwoStage
from ..local.method import Local
from ..optimize import lbfgsb, scg
from ..training.steps import STOCHASTIC

AnyMethod = Method | Local  # the local one has a training of its own
CLASSIFICATION: dict[str, type[AnyMethod]] = {
    "sparse_kl": SparseKL,
    "full_kl": FullKL,
    "ep": EP,
    "fitc_ep": FitcEP,
    "mean_field": MeanField,
    "sparse_mean_field": SparseMeanField,
    "two_stage": TwoStage,
    "laplace": Laplace,
    "ivm": IVM,
    "local": Local,
}
REGRESSION: dict[str, type[AnyMethod]] = {
    "exact": Exact,
    "titsias": Titsias,
    "svi": SVI,
    "full_kl": FullKL,
    "sparse_kl": SparseKL,
}
METHODS = {"classes": CLASSIFICATION, "numbers": REGRESSION}  # by what is learned
ROUNDS = "rounds"
# What moves kernel and inducing points in full batch, the method's own solver inside.
FULL_BATCH: dict[str, lbfgsb.Maximise] = {"collapsed": lbfgsb.maximise, "scg": scg.maximise}


def optimizers() -> tuple[str, ...]:
    """Every value that the argument `optimizer` may have."""
    return ("auto", *FULL_BATCH, "lbfgs", ROUNDS, *STOCHASTIC)
