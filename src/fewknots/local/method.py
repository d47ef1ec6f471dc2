"""GPClassifier(method="local"): what the estimator needs to know before it fits."""

from dataclasses import dataclass
from typing import ClassVar

from ..inference.method import Capabilities
from .model import RULES


@dataclass(frozen=True)
class Local(Capabilities):
    """A small Gaussian process classifier among the neighbours of every query.

    inference : the rule for the sites in each neighbourhood.
    """

    name = "local"
    is_bound = False
    stores_rows = looks_up_neighbours = streams = True
    exports_to_onnx = False  # a graph has no search
    optimizer = "adam"
    OPTIONS: ClassVar = {"inference": tuple(RULES)}
    inference: str = "laplace"

    @property
    def several_latent(self) -> bool:  # type: ignore[override]
        """Whether for likelihoods of several latent functions: by Laplace's rule."""
        return self.inference == "laplace"

    @property
    def weights(self) -> str:
        """Which weights it can take, in the words of inference/method.py."""
        return "copies" if self.inference == "ep" else "any"
