"""Which estimators `fewknots fit` may use: a classifier, a regressor, or the one that fits the
target.

Some options belong to one of the two only: "--likelihood poisson" to numbers, "--method ep" to
classes. With --task auto, those estimators are kept that accept all options, and the target decides
between them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import typer

TASKS = {"classes": "classification", "numbers": "regression"}


def estimators_for(task: str, asked: Mapping[str, Any]) -> Sequence[Any]:
    """The estimators of this task with these arguments.

    They are checked: a wrong value is an error now, not after hours of reading.
    """
    from ..estimators import GPClassifier, GPRegressor
    from ..fitting.settings import CLASS_LIKELIHOODS, NUMBER_LIKELIHOODS, one_of
    from ..kernels import as_kernel
    from ..numerics.precision import DEVICES, on_device

    if task not in ("auto", *TASKS.values()):
        raise typer.BadParameter(f"--task {task}: use auto, {' or '.join(TASKS.values())}.")
    one_of("device", asked["device"], DEVICES)
    likelihood = asked["likelihood"]
    one_of("--likelihood", likelihood, (*CLASS_LIKELIHOODS, *NUMBER_LIKELIHOODS))
    kernel = asked["kernel"]
    arguments = {**asked, "kernel": kernel if kernel == "auto" else as_kernel(kernel)}
    of_numbers = "gaussian" if likelihood == "auto" else likelihood
    made = {
        "classification": lambda: GPClassifier(**arguments),
        "regression": lambda: GPRegressor(**arguments | {"likelihood": of_numbers}),
    }
    found, errors = [], []
    for name, make in made.items():
        if task in ("auto", name):
            estimator = make()
            try:
                with on_device(asked["device"]):
                    estimator._settings()
            except ValueError as error:
                errors.append(error)
            else:
                found.append(estimator)
    if not found:
        raise errors[0]
    return found
