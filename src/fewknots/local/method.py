"""GPClassifier(method="local"): what the estimator needs to know before it fits."""

from dataclasses import dataclass
from typing import ClassVar

from .model import RULES


@dataclass(frozen=True)
class Local:
    """A small Gaussian process classifier among the neighbours of every query.

    inference : the rule for the sites in each neighbourhood.
    """

    name = "local"
    sparse = False
    is_bound = False
    several_latent = False
    OPTIONS: ClassVar = {"inference": tuple(RULES)}
    inference: str = "laplace"

    @property
    def weights(self) -> str:
        """Which weights it can take, in the words of inference/method.py."""
        return "copies" if self.inference == "ep" else "any"
