"""The experiments there are, by the name of their command."""

from .airline import Airline
from .banana import Banana
from .experiment import Experiment
from .mnist import Mnist
from .table1 import Table1
from .time_curves import BANANA_TIME, IMAGE

_ALL: tuple[Experiment, ...] = (Banana(), Table1(), IMAGE, BANANA_TIME, Mnist(), Airline())
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
