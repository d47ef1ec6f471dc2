"""The paper's experiments, each one command: `fewknots reproduce NAME`.

An experiment (experiment.py) is a list of independent cells and a drawing of their results. The
runner (runner.py) does the cells one by one and keeps each in a file, so that a run can be stopped
and taken up again; folder.py leaves what a reader wants: figure, numbers, README, record. Then
there is a file for each experiment, or a few.
"""

from .airline import Airline
from .banana import Banana
from .experiment import Experiment
from .mnist import Mnist
from .table1 import Table1
from .time_curves import BANANA_TIME, IMAGE

_ALL: tuple[Experiment, ...] = (Banana(), Table1(), IMAGE, BANANA_TIME, Mnist(), Airline())
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
