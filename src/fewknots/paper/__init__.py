"""The paper's experiments, one command each: `fewknots reproduce NAME`.

An experiment (experiment.py) is a list of independent cells and a function that draws their
results. The cells are run one by one and each is saved in a file, so that a run can be stopped and
resumed. folder.py writes the output: figure, numbers, README, record. The other files are the
experiments, one to three files each.
"""

from .airline import Airline
from .banana import Banana
from .digits import Digits
from .experiment import Experiment
from .mnist import Mnist
from .table1 import Table1
from .time_curves import BANANA_TIME, IMAGE

_ALL: tuple[Experiment, ...] = (
    *(Banana(), Table1(), IMAGE, BANANA_TIME, Mnist(), Airline(), Digits()),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
