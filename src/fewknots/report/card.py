"""The model card: what the model is, what made it, and how to use it."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .evidence import Evidence
from .hyperparameters import formula, of_the_whole
from .markup import Markup, element, join
from .numbers import cell, counted, short
from .tables import facts

_PACKAGES = ("jax", "numpy", "scikit-learn", "scipy")
_SAID_ELSEWHERE = ("target", "n_rows", "model_file")


def model_card(evidence: Evidence) -> Markup:
    """Facts about the model, its making and this page."""
    classifier = evidence.classifier
    points = counted(len(classifier.inducing_points_), "point")
    seed = classifier.random_state
    pairs: list[tuple[object, object]] = [
        ("Kernel", formula(classifier.kernel_)),
        *((name, short(value)) for name, value in of_the_whole(classifier.kernel_).items()),
        ("Likelihood", f"Bernoulli, {classifier.likelihood} link"),
        ("Method", f"{classifier.method_}, held by {points}"),
        (
            "Classes",
            f"{evidence.labels[0]} and {evidence.labels[1]}; probabilities are of the second",
        ),
        ("Inputs", f"{len(evidence.rows.names):,}, {_standardised(classifier)}"),
        ("Arithmetic", str(classifier.posterior_.points.dtype)),
        ("Seed", "none given" if seed is None else cell(seed)),
        *((name, cell(value)) for name, value in _flat(evidence.about)),
        ("This page", _versions()),
    ]
    return facts(pairs)


def how_to_load(evidence: Evidence) -> Markup:
    """Three lines of Python."""
    file = evidence.about.get("model_file", "model.fewknots")
    code = (
        "from fewknots import load\n\n"
        f"model = load({str(file)!r})\n"
        "model.predict_proba(rows)  # columns as in training\n"
    )
    return join(
        [element("h3", "How to load it"), element("pre", element("code", code), tabindex="0")]
    )


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


def _flat(about: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of `about` that no other place on the page shows, inner ones by both names."""
    for name, value in about.items():
        if not before and name in _SAID_ELSEWHERE:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}, ")
        else:
            yield (
                f"{before}{name}",
                ", ".join(map(str, value)) if isinstance(value, list) else value,
            )
