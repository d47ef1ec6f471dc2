"""What an ONNX graph is made of: all that this room asks of a classifier."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..data.standardise import Standardiser
from ..inference.capabilities import Capabilities
from ..kernels import Kernel
from ..likelihoods import Bernoulli


@runtime_checkable
class FittedClassifier(Protocol):
    """A `GPClassifier` after its fit."""

    classes_: np.ndarray
    kernel_: Kernel
    method_: str
    n_features_in_: int
    posterior_: Any  # a graph can be made of a Gaussian or a mixture of them
    _standardiser: Standardiser
    _method: type[Capabilities]
    _likelihood: Bernoulli
