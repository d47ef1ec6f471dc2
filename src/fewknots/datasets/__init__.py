"""The data sets of the paper's experiments, by name.

`load(name)` looks in a local folder, in installed packages, in a cache of earlier downloads and on
public servers, in this order; twonorm, ringnorm and waveform can also be drawn from their
definitions. `Dataset.source` describes where the data came from.
"""

from .catalogue import NAMES, available, load
from .dataset import Dataset, Split
from .generated import generate

__all__ = ["NAMES", "Dataset", "Split", "available", "generate", "load"]
