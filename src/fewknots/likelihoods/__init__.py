"""What the latent functions say of y: one file per likelihood, and a line in `LIKELIHOODS`.

`positive` and `setting` declare the fields of a likelihood that is written elsewhere.
"""

from ..numerics.fields import positive, setting
from .base import Expectations, Likelihood, Pointwise, Tilted
from .bernoulli import LINKS, Bernoulli
from .gaussian import Gaussian
from .multinomial_probit import MultinomialProbit
from .softmax import Softmax

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "bernoulli": Bernoulli,
    "gaussian": Gaussian,
    "multinomial_probit": MultinomialProbit,
    "softmax": Softmax,
}

__all__ = [
    "LIKELIHOODS",
    "LINKS",
    "Bernoulli",
    "Expectations",
    "Gaussian",
    "Likelihood",
    "MultinomialProbit",
    "Pointwise",
    "Softmax",
    "Tilted",
    "positive",
    "setting",
]
