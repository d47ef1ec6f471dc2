"""The paper's experiments, each one command: `fewknots reproduce NAME`.

An experiment (experiment.py) is a list of independent cells and a drawing of their results. The
runner (runner.py) does the cells one by one and keeps each in a file, so that a run can be stopped
and taken up again; folder.py leaves what a reader wants: figure, numbers, README, record.
"""
