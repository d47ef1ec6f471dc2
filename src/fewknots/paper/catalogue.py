"""The experiments there are, by the name of their command."""

from .banana import Banana
from .experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (Banana(),)}
