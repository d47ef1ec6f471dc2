"""Pipelines of two steps: `Scattering`, and a classifier or regressor."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .scattering import Scattering


def steps_of(pipeline: Pipeline) -> tuple[Scattering, Any]:
    """The two fitted steps; an error for any other pipeline."""
    steps = [step for _, step in pipeline.steps]
    if len(steps) != 2 or not isinstance(steps[0], Scattering):
        found = ", ".join(type(step).__name__ for step in steps)
        raise TypeError(
            "fewknots saves and exports pipelines of two steps, a Scattering and a GPClassifier or "
            f"GPRegressor; this one has {found}."
        )
    for step in steps:
        check_is_fitted(step)
    return steps[0], steps[1]
