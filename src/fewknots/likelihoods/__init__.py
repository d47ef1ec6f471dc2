"""Likelihoods, p(y|f): one file for each, and a line in `LIKELIHOODS`.

`positive` and `setting` declare the fields of your own likelihood.
"""

from ..numerics.fields import positive, setting
from .base import Expectations, Likelihood, Pointwise, Tilted
from .bernoulli import LINKS, Bernoulli
from .beta import Beta
from .gamma import Gamma
from .gaussian import Gaussian
from .heteroscedastic import Heteroscedastic
from .laplace import Laplace
from .multinomial_probit import MultinomialProbit
from .negative_binomial import NegativeBinomial
from .ordinal import Ordinal
from .poisson import Poisson
from .softmax import Softmax
from .student_t import StudentT

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "bernoulli": Bernoulli,
    "beta": Beta,
    "gamma": Gamma,
    "gaussian": Gaussian,
    "heteroscedastic": Heteroscedastic,
    "laplace": Laplace,
    "multinomial_probit": MultinomialProbit,
    "negative_binomial": NegativeBinomial,
    "ordinal": Ordinal,
    "poisson": Poisson,
    "softmax": Softmax,
    "student_t": StudentT,
}

__all__ = [
    "LIKELIHOODS",
    "LINKS",
    "Bernoulli",
    "Beta",
    "Expectations",
    "Gamma",
    "Gaussian",
    "Heteroscedastic",
    "Laplace",
    "Likelihood",
    "MultinomialProbit",
    "NegativeBinomial",
    "Ordinal",
    "Pointwise",
    "Poisson",
    "Softmax",
    "StudentT",
    "Tilted",
    "positive",
    "setting",
]
