"""GPClassifier(method="local"): its options and capabilities."""

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
    exports_to_onnx = False  # an ONNX graph cannot search neighbours
    optimizer = "adam"
    OPTIONS: ClassVar = {"inference": tuple(RULES)}
    inference: str = "laplace"

    @property
    def several_latent(self) -> bool:  # type: ignore[override]
        """Whether it supports likelihoods with several latent functions: only with Laplace's
        rule.
        """
        return self.inference == "laplace"

    @property
    def weights(self) -> str:
        """The weights that it allows, in the terms of inference/method.py."""
        return "copies" if self.inference == "ep" else "any"
