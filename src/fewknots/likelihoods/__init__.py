"""What the latent function says of the label: one file per likelihood."""

from .base import Expectations, Likelihood, Pointwise, Tilted
from .bernoulli import LINKS, Bernoulli
from .gaussian import Gaussian

__all__ = ["LINKS", "Bernoulli", "Expectations", "Gaussian", "Likelihood", "Pointwise", "Tilted"]
