"""HTML of a fitted model for notebooks, below scikit-learn's diagram of its arguments.

One table about the model and one about the inputs, with each kernel parameter in the units of the
user's columns. Colours are inherited from the page, so that it can be read in light and dark mode.
"""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import Warp
from ..kernels.hyperparameters import formula, global_parameters, per_input
from ..markup import Markup, element, join
from .in_words import method_in_words, points_in_words

if TYPE_CHECKING:
    from .base import GPEstimator

_MOST_INPUTS, _MOST_CLASSES = 20, 8
_LENGTHSCALE = "lengthscale"
_STYLE = """
.fewknots-model { color: inherit; font-size: 0.9em; margin: 0.6em 0; }
.fewknots-model table { border-collapse: collapse; margin: 0 0 0.8em 0; color: inherit; }
.fewknots-model th, .fewknots-model td { border: 0; border-bottom: 1px solid rgba(128,128,128,0.35);
  padding: 0.25em 1.2em 0.25em 0; text-align: left; background: none; color: inherit;
  vertical-align: top; max-width: 46em; }
.fewknots-model td.number { text-align: right; font-variant-numeric: tabular-nums; }
.fewknots-model caption { text-align: left; opacity: 0.75; padding: 0.3em 0; }
"""


def shown(estimator: "GPEstimator") -> Markup:
    """HTML of a fitted estimator, complete in itself."""
    facts = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in _facts(estimator).items()
    ]
    style = element("style", Markup(_STYLE))
    tables = join([element("table", *facts), _inputs(estimator)])
    return element("div", style, tables, class_="fewknots-model")


def _facts(estimator: "GPEstimator") -> dict[str, str]:
    facts = {"predicts": _target(estimator), "method": method_in_words(estimator)}
    if contest := getattr(estimator, "contest_", None):
        facts["NLP of held-out rows"] = ", ".join(f"{k} {v:.4f}" for k, v in contest.items())
    facts["log evidence"] = _evidence(estimator)
    facts["held by"] = points_in_words(estimator)
    facts["kernel"] = formula(estimator.kernel_)
    values = global_parameters(estimator.kernel_)
    facts |= {name: f"{value:.4g}" for name, value in values.items()}
    steps = f"{estimator.n_iter_:,} iterations"
    facts["training"] = steps + ("" if estimator.converged_ else ", ended before it converged")
    return facts


def _target(estimator: "GPEstimator") -> str:
    if not hasattr(estimator, "classes_"):
        return f"numbers; {_likelihood(estimator.likelihood_)}"
    labels = [str(label) for label in estimator.classes_[:_MOST_CLASSES]]
    more = len(estimator.classes_) - len(labels)
    listed = ", ".join(labels) + (f" and {more} more" if more else "")
    return f"{len(estimator.classes_)} classes: {listed}"


def _likelihood(likelihood: Any) -> str:
    """Name and parameters: "StudentT likelihood, scale 0.145, excess 1.2"."""
    values = ((field.name, getattr(likelihood, field.name)) for field in fields(likelihood))
    numbers = [f", {name} {float(value):.4g}" for name, value in values if np.ndim(value) == 0]
    return f"{type(likelihood).__name__} likelihood{''.join(numbers)}"


def _evidence(estimator: "GPEstimator") -> str:
    value = f"{estimator.log_evidence_:,.2f} nats"
    if estimator.evidence_is_bound_:
        return f"{value}, a lower bound"
    return f"{value}, leave-one-out" if estimator._method.looks_up_neighbours else value


def _inputs(estimator: "GPEstimator") -> Markup | None:
    """A table of all parameters with one value per input; short lengthscales first."""
    scale = estimator._standardiser.scale
    found = per_input(estimator.kernel_, scale)
    if not found:
        return None
    names = _names(estimator, len(scale))
    order = np.arange(len(scale))
    for name, values in found.items():
        if name.endswith(_LENGTHSCALE):
            order = np.argsort(values / scale, kind="stable")  # unitless: comparable
            break
    about = "in the units of the inputs"
    if isinstance(estimator.kernel_, Warp):
        about += ", near the median of those that are mapped (docs/warps.md)"
    if len(names) > _MOST_INPUTS:
        about += f"; {_MOST_INPUTS} of {len(names):,} inputs"
    head = element("tr", *(element("th", name, scope="col") for name in ("input", *found)))
    rows = [
        element(
            "tr",
            element("th", names[number], scope="row"),
            *(element("td", _number(values[number]), class_="number") for values in found.values()),
        )
        for number in order[:_MOST_INPUTS]
    ]
    return element("table", element("caption", about), head, *rows)


def _names(estimator: "GPEstimator", n_features: int) -> list[str]:
    if estimator.recipe_ is not None:
        return list(estimator.recipe_.feature_names)
    names = getattr(estimator, "feature_names_in_", None)
    return [f"input {n}" for n in range(n_features)] if names is None else list(names)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"
