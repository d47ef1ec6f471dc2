"""The model card: sentences, then facts and scores, then how to load the model."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from ..kernels.hyperparameters import formula, global_parameters
from ..markup import Markup, element
from ..number_scoring import NUMBER_SCORES
from ..scoring import MANY_CLASSES_SCORES, SCORES, scores
from ..version import __version__
from .comparison import Comparison
from .evidence import Evidence
from .labels import IN_A_SENTENCE, shortened
from .number_evidence import AnyEvidence, NumberEvidence, likelihood_in_words
from .numbers import cell, counted, percent, short
from .tables import facts, table

_PACKAGES = ("jax", "numpy", "scikit-learn", "scipy")
_SHOWN_ELSEWHERE = ("target", "n_rows", "model_file", "checked_on", "n_files", "holds")
_FILES_NAMED = 3
_MOST = 300  # characters of a value that the user gave
_CLASSES_NAMED = 12
SCORE_HEADINGS = {
    "nlp": "NLP",
    "brier": "Brier",
    "error": "Error",
    "auc": "AUC",
    "ece": "Calibration error",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "coverage": "In 95 % intervals",
}


def model_card(evidence: AnyEvidence) -> list[Markup | None]:
    """The contents of the section."""
    sentences = [element("p", each) for each in _in_sentences(evidence)]
    return [*sentences, _numbers(evidence), _scores_at_the_fit(evidence), *_how_to_load(evidence)]


def held_by(classifier: Any) -> str:
    """Number of inducing points or training rows of the posterior, as text."""
    if classifier._method.looks_up_neighbours:
        return counted(classifier.stored_rows_ or len(classifier.posterior_.points), "training row")
    return counted(len(classifier.posterior_.points), "point")


def scores_of_model(evidence: Evidence) -> dict[str, float | None]:
    """The model's scores."""
    p = evidence.p if evidence.n_classes == 2 else np.exp(evidence.log_p)
    return scores(p, evidence.y, evidence.log_p)


def likelihood_in_a_word(classifier: Any) -> str:
    """The link, as in "probit link"; "softmax" or "probit" if every class has a function."""
    likelihood = classifier._likelihood
    if likelihood.n_latent == 1:
        return f"{likelihood.link} link"
    return "multinomial probit" if likelihood.largest_leads else "softmax"


def _in_sentences(evidence: AnyEvidence) -> list[str]:
    """What it predicts and how, how well, what it is not for, and what is in the file."""
    return [
        _what_number(evidence) if isinstance(evidence, NumberEvidence) else _what(evidence),
        f"It was checked on {counted(len(evidence.y), 'row')}. {evidence.checked_on} "
        + _how_good(evidence),
        "Do not use it for rows of another kind than those it learned from: another time, place or "
        "group of people. Far from them its predictions go back to what it believed before it "
        "saw any row. Do not read the curves as what would happen if a column were changed: they "
        "show what goes together. Whether it treats groups of people alike has not been checked.",
        _in_the_file(evidence),
    ]


def _what(evidence: Evidence) -> str:
    classifier, about = evidence.classifier, evidence.about
    target = about.get("target")
    what = "a label" if target is None else shortened(target, IN_A_SENTENCE)
    learned = f"It learned from {_learned_rows(about)}{_of_files(about)}{_on_a_day(about)}: "
    columns, inputs = len(evidence.inputs), len(evidence.rows.names)
    made = "" if columns == inputs else f", which become {counted(inputs, 'number')}"
    if evidence.n_classes == 2:
        negative, positive = evidence.labels
        gives = f"the probability that {what} is {positive} rather than {negative}"
    else:
        gives = f"the probability of each of {evidence.n_classes} classes of {what}"
    if classifier._likelihood.n_latent == 1:
        learns, into = "a smooth function of the columns", "a probability"
    else:
        learns, into = "a smooth function of the columns for each class", "probabilities"
    return (
        f"This model gives {gives}. "
        f"{learned}{counted(columns, 'column')}{made}. It is a Gaussian process classifier: it "
        f"learns {learns} and how sure one can be of it, and turns both "
        f"into {into}. Its kernel is {formula(classifier.kernel_)}, its method "
        f"{classifier.method_}, and {held_by(classifier)} hold what it learned."
    )


def _what_number(evidence: NumberEvidence) -> str:
    about, regressor = evidence.about, evidence.classifier
    columns, inputs = len(evidence.inputs), len(evidence.rows.names)
    made = "" if columns == inputs else f", which become {counted(inputs, 'number')}"
    return (
        f"This model gives {evidence.what} as a number, with an interval. It learned from "
        f"{_learned_rows(about)}{_of_files(about)}{_on_a_day(about)}: "
        f"{counted(columns, 'column')}{made}. It is Gaussian process regression: it learns a "
        "smooth function of the columns, how sure one can be of it, and how the number spreads "
        f"around it ({likelihood_in_words(regressor)}). Its kernel is "
        f"{formula(regressor.kernel_)}, its method {regressor.method_}, and {held_by(regressor)} "
        "hold what it learned."
    )


def _learned_rows(about: Mapping[str, Any]) -> str:
    n_rows = about.get("n_rows")
    return counted(n_rows, "row") if isinstance(n_rows, int) else "rows that are not named here"


def _of_files(about: Mapping[str, Any]) -> str:
    files = about.get("files")
    if not isinstance(files, list | tuple) or not files:
        return ""
    n_files = about.get("n_files")
    count = n_files if isinstance(n_files, int) else len(files)
    named = [shortened(name, IN_A_SENTENCE) for name in files[:_FILES_NAMED]]
    more = f" and {counted(count - len(named), 'more file')}" if count > len(named) else ""
    return f" of {', '.join(named)}{more}"


def _on_a_day(about: Mapping[str, Any]) -> str:
    date = about.get("date")
    return f" on {date[:10]}" if isinstance(date, str) else ""


def _how_good(evidence: AnyEvidence) -> str:
    if isinstance(evidence, NumberEvidence):
        found = evidence.scores
        text = (
            f"Its predictions are off by {short(found['mae'], 3)} on average, and "
            f"{percent(found['coverage'] or 0.0)} of the rows are within their 95 % intervals."
        )
        return text if evidence.against is None else f"{text} {_compared(evidence.against)}"
    found = scores_of_model(evidence)
    common = evidence.counts.max() / len(evidence.y)
    most = "more" if evidence.n_classes == 2 else "most"
    text = (
        f"It answers {percent(1.0 - (found['error'] or 0.0))} of them rightly; the {most} frequent "
        f"class alone makes up {percent(common)}. Its probabilities differ from what came true by "
        f"{short(found['ece'], 2)} on average (calibration error)."
    )
    if evidence.against is not None:
        text += f" {_compared(evidence.against)}"
    return text


def _compared(against: Comparison) -> str:
    return f"{against.words} ({against.interval})."


def _in_the_file(evidence: AnyEvidence) -> str:
    safe = "It contains no program; loading it runs nothing."
    if holds := evidence.about.get("holds"):
        return f"The model file holds {str(holds).rstrip('.')}. {safe}"
    classifier = evidence.classifier
    points = len(classifier.posterior_.points)
    if classifier._method.looks_up_neighbours or points == evidence.about.get("n_rows"):
        rows = "The rows it learned from are in it, as numbers"
    else:
        rows = f"Its {counted(points, 'point')} may be, or be close to, rows it learned from"
    return (
        "The model file contains the kernel, what the model learned, and the names of the columns "
        "and of the levels of texts. "
        f"{rows}: give it only to those who may see such rows. {safe}"
    )


def _numbers(evidence: AnyEvidence) -> Markup:
    """Facts about the model, its fit and this page."""
    classifier = evidence.classifier
    seed = classifier.random_state
    entries: dict[str, str] = {
        "Kernel": formula(classifier.kernel_),
        **{name: short(value) for name, value in global_parameters(classifier.kernel_).items()},
        "Likelihood": _likelihood(evidence),
        "Method": f"{classifier.method_}, held by {held_by(classifier)}",
        **({"Classes": _classes(evidence)} if isinstance(evidence, Evidence) else {}),
        "Inputs": f"{len(evidence.rows.names):,}, {_standardised(classifier)}",
        "Arithmetic": str(classifier.posterior_.points.dtype),
        "Seed": "none given" if seed is None else cell(seed),
    }
    for name, value in evidence.about.items():
        if name not in _SHOWN_ELSEWHERE and not (name == "hold_out" and _hold_out(evidence)):
            heading = _as_heading(shortened(name, IN_A_SENTENCE))
            entries[heading] = shortened(_in_words(value), _MOST)
    return facts([*entries.items(), ("This page", _versions())])


def _likelihood(evidence: AnyEvidence) -> str:
    classifier = evidence.classifier
    if isinstance(evidence, NumberEvidence):
        return likelihood_in_words(classifier)
    likelihood = classifier._likelihood
    if likelihood.n_latent == 1:
        return f"Bernoulli, {likelihood.link} link"
    return f"{likelihood_in_a_word(classifier)} of {likelihood.n_latent} latent functions"


def _classes(evidence: Evidence) -> str:
    if evidence.n_classes == 2:
        return " and ".join(evidence.labels) + "; probabilities are of the second"
    named = ", ".join(evidence.labels[:_CLASSES_NAMED])
    more = evidence.n_classes - _CLASSES_NAMED
    return named + (f" and {more} more" if more > 0 else "")


def _hold_out(evidence: AnyEvidence) -> dict[str, Mapping[str, Any]] | None:
    """The scores in the model file, from the fit: {predictor: {score: value}}."""
    held = evidence.about.get("hold_out")
    found = held.get("scores") if isinstance(held, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        return None
    return dict(found) if all(isinstance(own, Mapping) for own in found.values()) else None


def _scores_at_the_fit(evidence: AnyEvidence) -> Markup | None:
    found = _hold_out(evidence)
    if found is None:
        return None
    n_rows = evidence.about["hold_out"].get("rows")
    rows = f"{counted(n_rows, 'row')}" if isinstance(n_rows, int) else "rows"
    names: tuple[str, ...] = NUMBER_SCORES
    if isinstance(evidence, Evidence):
        names = SCORES if evidence.n_classes == 2 else MANY_CLASSES_SCORES
    lines = [[name, *(own.get(score) for score in names)] for name, own in found.items()]
    header = ["Predictor", *(SCORE_HEADINGS[score] for score in names)]
    return table(f"Scores on the {rows} that were held out at the fit", header, lines)


def _how_to_load(evidence: AnyEvidence) -> list[Markup]:
    """Three lines of Python."""
    numbers = isinstance(evidence, NumberEvidence)
    call = "predict(rows, return_std=True)" if numbers else "predict_proba(rows)"
    file = shortened(evidence.about.get("model_file", "model.fewknots"), _MOST)
    code = f"from fewknots import load\n\nmodel = load({file!r})\nmodel.{call}\n"
    return [element("h3", "How to load it"), element("pre", element("code", code))]


def _standardised(classifier: Any) -> str:
    return "standardised" if classifier.standardize else "as they are"


def _versions() -> str:
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
