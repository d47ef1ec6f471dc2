"""The model card: what the model is, what made it, and how to use it."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .evidence import Evidence
from .hyperparameters import formula, of_the_whole
from .markup import Markup, element, join
from .numbers import cell, counted, short
from .tables import facts

_PACKAGES = ("jax", "numpy", "scikit-learn", "scipy")
_SAID_ELSEWHERE = ("target", "n_rows", "model_file", "checked_on")


def model_card(evidence: Evidence) -> Markup:
    """Facts about the model, its making and this page."""
    classifier = evidence.classifier
    seed = classifier.random_state
    told = {
        "Kernel": formula(classifier.kernel_),
        **{name: short(value) for name, value in of_the_whole(classifier.kernel_).items()},
        "Likelihood": f"Bernoulli, {classifier.likelihood} link",
        "Method": f"{classifier.method_}, held by {held_by(classifier)}",
        "Classes": " and ".join(evidence.labels) + "; probabilities are of the second",
        "Inputs": f"{len(evidence.rows.names):,}, {_standardised(classifier)}",
        "Arithmetic": str(classifier.posterior_.points.dtype),
        "Seed": "none given" if seed is None else cell(seed),
    }
    for name, value in evidence.about.items():
        if name not in _SAID_ELSEWHERE:
            told[_as_heading(str(name))] = _in_words(value)
    return facts([*told.items(), ("This page", _versions())])


def held_by(classifier: Any) -> str:
    """The points, or training rows, that the belief is held by."""
    one = "training row" if classifier.method_ == "local" else "point"
    return counted(len(classifier.posterior_.points), one)


def how_to_load(evidence: Evidence) -> Markup:
    """Three lines of Python."""
    file = evidence.about.get("model_file", "model.fewknots")
    code = f"from fewknots import load\n\nmodel = load({str(file)!r})\nmodel.predict_proba(rows)\n"
    return join([element("h3", "How to load it"), element("pre", element("code", code))])


def _standardised(classifier: Any) -> str:
    return "standardised" if classifier.standardize else "as they are"


def _versions() -> str:
    from .. import __version__

    named = [f"fewknots {__version__}", f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(named)


def _as_heading(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}".replace("_", " ")


def _in_words(value: Any, inside: bool = False) -> str:
    """A value, a list of values, or names and values, on one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{name} {_in_words(inner, True)}" for name, inner in value.items())
        return f"({pairs})" if inside else pairs
    if isinstance(value, list | tuple):
        return ", ".join(_in_words(inner, True) for inner in value)
    return cell(value)
