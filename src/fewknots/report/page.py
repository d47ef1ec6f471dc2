"""The whole page: `write_report`."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

from ..data.iterator_source import arrow_table
from ..estimators import GPRegressor
from ..files.container import replacing
from ..markup import Markup, element
from . import (
    calibration,
    card,
    confusion,
    decisions,
    doubt,
    effects,
    importance,
    number_calibration,
    number_summary,
    ranking,
    residuals,
    summary,
    surface,
    training,
)
from .evidence import Evidence, RowNames, gather
from .labels import IN_A_SENTENCE, label, shortened
from .number_evidence import AnyEvidence, NumberEvidence, gather_numbers

_LINKS = {
    "scores": "Scores",
    "probabilities": "Calibration",
    "decisions": "Threshold",
    "confusion": "Confusion",
    "ranking": "Ranking and lift",
    "intervals": "Intervals",
    "residuals": "Residuals",
    "doubt": "Doubt",
    "inputs": "Columns",
    "training": "Training",
    "card": "Model card",
}
_STYLES, _SCRIPTS = ("page.css",), ("sort.js", "scroll.js", "threshold.js")
_STYLES_OF_MANY, _SCRIPTS_OF_MANY = ("page.css", "classes.css"), ("sort.js", "scroll.js")
_IN_THE_TITLE = 120  # characters

_Section = tuple[str, str, Sequence[Markup | None]]  # id, heading, contents


def write_report(
    path: str | PathLike[str],
    classifier: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[object] | None = None,
    baselines: Any = None,
    recipe: Any = None,
    rows: Any = None,
    title: str | None = None,
    about: Mapping[str, Any] | None = None,
    row_names: RowNames | None = None,
) -> None:
    """Write one HTML file about a fitted `GPClassifier` or `GPRegressor` and rows to check it on.

    The file is self-contained: no network, no fonts, no scripts except its own few lines. It is
    written atomically, and the same arguments give the same bytes.

    path : the file to write.
    X, y : rows that it was not fitted to, and their labels, as in `classes_`, or numbers.
    feature_names : names of the columns of X; default: the names of the fit, or of `recipe`.
    baselines : `fewknots.tables.model.Baselines`, or an object whose `probabilities(X)` returns
        a dict of probabilities by name, to compare with the model. For a regressor
        `NumberBaselines`, or an object whose `seen(X, y, counts)` returns `number_scoring.Seen`.
    recipe : the `Recipe` that made X; not needed for a classifier that was fitted to a raw table,
        which has its own. With it, the page shows the columns of the table: a date or a text is one
        column, for any number of features. Without it, each feature is a column.
    rows : table of the same rows before encoding (pandas, polars or pyarrow), for the tables that
        list single rows.
    title : the heading of the page.
    about : further facts for the model card. Some have a place of their own: "target" (the
        predicted column), "n_rows" (number of training rows), "model_file", "checked_on" (a
        sentence about the origin of the rows, such as "They were held out at the fit.") and "holds"
        (what the model file contains of the table, such as "20 inducing points.").
    row_names : function that gives the names of rows of X, such as "line 12", for their numbers;
        default: the numbers, from 0.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> from fewknots.report import write_report
    >>> write_report("moons.html", clf, X, y, feature_names=["across", "up"])
    """
    if rows is not None:
        rows = arrow_table(rows)
    if feature_names is None and recipe is not None:
        feature_names = recipe.feature_names
    given = (classifier, X, y, feature_names, recipe, baselines, rows, about, row_names)
    if isinstance(classifier, GPRegressor):
        content = number_page(gather_numbers(*given), title)
    else:
        evidence = gather(*given)
        content = page(evidence, title or _title(evidence))
    with replacing(path) as unfinished:
        unfinished.write_text(content, encoding="utf-8", newline="\n")


def page(evidence: Evidence, title: str) -> str:
    """The HTML text."""
    top = [summary.task(evidence), summary.verdict(evidence)]
    files = (_STYLES, _SCRIPTS) if evidence.n_classes == 2 else (_STYLES_OF_MANY, _SCRIPTS_OF_MANY)
    return _html(title, top, _sections(evidence), *files)


def number_page(evidence: NumberEvidence, title: str | None) -> str:
    """The same of a model of numbers."""
    top = [number_summary.task(evidence), number_summary.verdict(evidence)]
    files = _STYLES, _SCRIPTS_OF_MANY
    return _html(title or _title(evidence), top, _sections_of_numbers(evidence), *files)


def _html(
    title: str,
    top: Sequence[Markup | None],
    sections: list[_Section],
    styles: Sequence[str],
    scripts: Sequence[str],
) -> str:
    links = [element("a", _LINKS[name], href=f"#{name}") for name, _, _ in sections]
    body = [
        element("header", element("h1", label(title, _IN_THE_TITLE)), *top),
        element("nav", *links, aria_label="Sections"),
        element(
            "main",
            *(
                element("section", element("h2", heading), *parts, id=name)
                for name, heading, parts in sections
            ),
        ),
    ]
    style = Markup("\n".join(map(_resource, styles)))
    script = Markup("\n".join(map(_resource, scripts)))
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", shortened(title, _IN_THE_TITLE)),
        element("style", style),
    ]
    html = element(
        "html", element("head", *head), element("body", *body, element("script", script)), lang="en"
    )
    return f"<!doctype html>\n{html}\n"


def _sections(evidence: Evidence) -> list[_Section]:
    """All sections, in order."""
    fitted = training.training_figures(evidence)
    two = evidence.n_classes == 2
    return [
        ("scores", "Scores", [summary.score_table(evidence)]),
        *(_for_two(evidence) if two else _for_many(evidence)),
        (
            "doubt",
            "What the model does not know",
            [
                None if two else element("p", doubt.DOUBT_ABOUT_MANY, class_="note"),
                _grid(doubt.variance_by_distance(evidence), doubt.errors_by_variance(evidence)),
                doubt.least_known(evidence),
                None if two else doubt.least_decided(evidence),
                doubt.confidently_wrong(evidence),
            ],
        ),
        (
            "inputs",
            "Which columns matter",
            [
                importance.leading_sentence(evidence),
                _grid(importance.importance_bars(evidence), surface.decision_surface(evidence)),
                importance.importance_table(evidence),
                element("h3", "What the columns that matter most do"),
                element("p", effects.NOTE if two else effects.NOTE_OF_MANY, class_="note"),
                _grid(*effects.effect_figures(evidence)),
                importance.kernel_detail(evidence),
            ],
        ),
        (
            "training",
            "How training went",
            [training.training_sentence(evidence), *([_grid(*fitted)] if fitted else [])],
        ),
        ("card", "Model card", card.model_card(evidence)),
    ]


def _sections_of_numbers(evidence: NumberEvidence) -> list[_Section]:
    fitted = training.training_figures(evidence)
    return [
        ("scores", "Scores", [number_summary.score_table(evidence)]),
        (
            "intervals",
            "Do the intervals hold what they say?",
            [_grid(number_calibration.coverage(evidence), number_calibration.ranks(evidence))],
        ),
        (
            "residuals",
            "Where the model is wrong",
            [
                _grid(residuals.by_prediction(evidence), residuals.by_doubt(evidence)),
                residuals.most_surprising(evidence),
            ],
        ),
        (
            "inputs",
            "Which columns matter",
            [
                importance.leading_sentence(evidence),
                importance.importance_bars(evidence),
                importance.importance_table(evidence),
                element("h3", "What the columns that matter most do"),
                element("p", effects.NOTE_OF_NUMBERS, class_="note"),
                _grid(*effects.effect_figures(evidence)),
                importance.kernel_detail(evidence),
            ],
        ),
        (
            "training",
            "How training went",
            [training.training_sentence(evidence), *([_grid(*fitted)] if fitted else [])],
        ),
        ("card", "Model card", card.model_card(evidence)),
    ]


def _for_two(evidence: Evidence) -> list[_Section]:
    return [
        (
            "probabilities",
            "Do the probabilities mean what they say?",
            [_grid(calibration.reliability_diagram(evidence), calibration.histogram(evidence))],
        ),
        ("decisions", "What a threshold does", [decisions.confusion(evidence)]),
        ("ranking", "How well rows are ranked", ranking.ranking(evidence)),
    ]


def _for_many(evidence: Evidence) -> list[_Section]:
    together = calibration.reliability_diagram(evidence)
    drawn = calibration.diagrams_of_classes(evidence)
    all_of_them = len(drawn) == evidence.n_classes
    return [
        (
            "confusion",
            "Which classes are taken for which",
            [
                confusion.leading_sentence(evidence),
                confusion.matrix(evidence),
                confusion.most_confused(evidence),
            ],
        ),
        (
            "probabilities",
            "Do the probabilities mean what they say?",
            [
                _grid(together, calibration.histogram_of_answers(evidence)),
                calibration.table_of_classes(evidence),
                element("h3", "Each class" if all_of_them else "The most frequent classes"),
                _grid(*drawn),
            ],
        ),
    ]


def _grid(*figures: Markup | None) -> Markup:
    return element("div", *figures, class_="grid")


def _title(evidence: AnyEvidence) -> str:
    target = evidence.about.get("target")
    return (
        f"Report on a {'classifier' if isinstance(evidence, Evidence) else 'regressor'}"
        if target is None
        else f"Predicting {shortened(target, IN_A_SENTENCE)}"
    )


def _resource(name: str) -> Markup:
    """A file of this package; it is trusted, so it is markup."""
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Content security policy: only our own script and style are allowed, by their digests.

    So even a text that was not escaped could not run, and the page can load nothing.
    """

    def digest(text: str) -> str:
        sha = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return f"'sha256-{sha}'"

    return (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
