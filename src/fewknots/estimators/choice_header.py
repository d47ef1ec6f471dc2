"""What a model file says about the method that was chosen: how it won, how many rows it holds."""

from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from ..files.header_values import value_of


def contest_header(estimator: Any) -> dict[str, Any] | None:
    """How the methods compared that competed, as JSON; None if none did.

    An infinite NLP, of a method that could not be fitted, is None too.
    """
    if not hasattr(estimator, "contest_"):
        return None
    nlp = {name: nlp if np.isfinite(nlp) else None for name, nlp in estimator.contest_.items()}
    return {"nlp": nlp, "gain": estimator.contest_gain_}


def restore_contest(estimator: Any, told: Any) -> None:
    """Read what `contest_header` wrote, trusting none of it."""
    if told is None:
        return
    nlp, gain = value_of(told, "nlp", dict), told["gain"]
    estimator.contest_ = {
        name: np.inf if nlp[name] is None else value_of(nlp, name, float) for name in nlp
    }
    estimator.contest_gain_ = None
    if gain is not None:
        low, high = value_of(gain, "interval", list)
        estimator.contest_gain_ = {
            "nlp": value_of(gain, "nlp", float),
            "interval": [value_of({"end": end}, "end", float) for end in (low, high)],
            "rows": value_of(gain, "rows", int),
        }


def restored_stored_rows(training: dict[str, Any], n_points: int) -> int | None:
    """How many of the posterior's points are rows; None in files of older versions."""
    if training.get("stored_rows") is None:
        return None
    stored = value_of(training, "stored_rows", int)
    if not 0 <= stored <= n_points:
        raise ModelFileError(f"it says that {stored} of its {n_points} points are rows.")
    return stored
