"""A report on more than two classes: what is on it, against counting; and in a browser at 26."""

import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss

from fewknots import GPClassifier, scoring
from fewknots.explain.colours import CLASS_COLOURS
from fewknots.kernels import RBF
from fewknots.report import write_report

from .test_browser import _CHROMIUM, browser, open_page  # noqa: F401
from .test_columns import _between
from .test_page import _report

_LONG = "Manufacture of optical products and electronics"


class ThreeBaselines:
    def probabilities(self, X):
        return {"majority class": np.tile([0.5, 0.3, 0.2], (len(X), 1))}


@pytest.fixture(scope="module")
def text(three_classes, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    about = {"target": "animal", "n_rows": 150, "hold_out": {"scores": {"model": {"nlp": 0.25}}}}
    found, _ = _report(path, *three_classes, baselines=ThreeBaselines(), about=about)
    return found


def _cells(text, caption):
    """The texts of a table's cells, row by row."""
    rows = _between(text, f"<caption>{caption}", "</table>").partition("<tbody>")[2]
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows.split("</tr>")[:-1]]


def test_the_confusion_matrix_is_that_of_scikit_learn(text, three_classes):
    classifier, X, y = three_classes
    counts = confusion_matrix(y, classifier.predict(X))
    shown = _cells(text, "Confusion matrix, in rows")
    assert [row[0] for row in shown] == ["ant", "bee", "cat"]
    assert [[int(cell or 0) for cell in row[1:]] for row in shown] == counts.tolist()
    pairs = _cells(text, "Most confused pairs")
    off = counts[~np.eye(3, dtype=bool)]
    assert [int(row[2]) for row in pairs] == sorted(off[off > 0].tolist(), reverse=True)
    assert f"{off.sum()} rows of 150 are answered wrongly" in text


def test_scores_stand_beside_those_of_baselines(text, three_classes):
    classifier, X, y = three_classes
    rows = _cells(text, "Scores on the checked rows")
    nlp = [float(row[1].split(" ")[0]) for row in rows]
    assert [row[0] for row in rows] == ["Gaussian process", "majority class"]
    assert nlp[0] == pytest.approx(log_loss(y, classifier.predict_proba(X)), abs=1e-4)
    majority = ThreeBaselines().probabilities(X)["majority class"]
    assert nlp[1] == pytest.approx(log_loss(y, majority), abs=1e-4)
    assert "The model is better than the best baseline, majority class" in text


def test_the_page_has_what_many_classes_need_and_nothing_else(text):
    assert re.findall(r'<section id="(\w+)"', text) == [
        "scores", "confusion", "probabilities", "doubt", "inputs", "training", "card",
    ]  # fmt: skip
    assert 'type="range"' not in text
    assert "data-thresholds" not in text
    for words in (
        "Which of 3 classes <b>animal</b> is",
        "the probability of each of 3 classes of animal",
        "softmax of 3 latent functions",
        "Class by class",
        "Rows whose probabilities are spread most evenly",
        "Rows most confidently wrong",
        "Most probable class over",
        "held out at the fit",
    ):
        assert words in text
    effect = _between(text, '<p class="title">x0</p>', "</figure>")
    assert len(re.findall(r'class="line k[012]"', effect)) == 3
    assert "the mean probability of bee goes from" in effect


def test_scores_by_hand():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(4, size=300)
    found = scoring.scores(p, y)
    assert found["nlp"] == pytest.approx(log_loss(y, p))
    truth = np.eye(4)[y]
    assert found["brier"] == pytest.approx(np.mean(np.sum((p - truth) ** 2, axis=1)))
    assert found["error"] == pytest.approx(np.mean(p.argmax(axis=1) != y))
    errors = []
    for c in range(4):
        bins = np.minimum((10 * p[:, c]).astype(int), 9)
        gaps = [abs(np.sum((p - truth)[bins == b, c])) for b in range(10)]
        errors.append(sum(gaps) / 300)
    assert scoring.calibration_errors(p, y) == pytest.approx(errors)
    assert found["ece"] == pytest.approx(np.mean(errors))
    around = scoring.intervals(p, y, resamples=50)
    for name in scoring.MANY_CLASSES_SCORES:
        assert around[name][0] < found[name] < around[name][1]
    assert scoring.scores(truth, y) == {"nlp": 0, "brier": 0, "error": 0, "ece": 0}
    assert np.isfinite(scoring.scores(truth[:, ::-1], y)["nlp"])


def test_two_classes_with_a_function_each(moons, tmp_path):
    X, y = moons
    options = {"likelihood": "softmax", "n_inducing": 8, "tol": 0.1, "learn_inducing": False}
    classifier = GPClassifier(RBF(), learn_kernel=False, **options).fit(X, y)
    text, _ = _report(tmp_path / "report.html", classifier, X, y)
    assert 'id="decisions"' in text
    assert ", softmax)" in text


def test_a_class_that_is_missing_here_and_errors(three_classes, tmp_path):
    classifier, X, y = three_classes
    ants = y == "ant"
    _, page = _report(tmp_path / "a.html", classifier, X[ants][:9], y[ants][:9])
    assert not re.search(r"\b(nan|inf)\b", "".join(page.text), re.IGNORECASE)
    with pytest.raises(ValueError, match=r"row 0 is 'owl', .* knows \['ant', 'bee', 'cat'\]"):
        write_report(tmp_path / "b.html", classifier, X, np.full(150, "owl"))

    class OfTwo:
        def probabilities(self, X):
            return {"coin": np.full(len(X), 0.5)}

    with pytest.raises(ValueError, match=r"'coin' have the shape \(150,\); .* \(150, 3\)"):
        write_report(tmp_path / "b.html", classifier, X, y, baselines=OfTwo())


def test_colours_of_the_page_are_those_of_the_plots(text):
    for number, colour in enumerate(CLASS_COLOURS):
        assert f".k{number} {{ color: {colour}; }}" in text


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Twenty-six classes, two of them with long names."""
    rng = np.random.default_rng(1)
    names = np.array([chr(65 + i) for i in range(24)] + [_LONG, _LONG + " of another kind"])
    centres = rng.normal(size=(26, 3)) * 2.0
    codes = np.tile(np.arange(26), 10)
    X = centres[codes] + rng.normal(size=(260, 3))
    options = {"n_inducing": 20, "learn_kernel": False, "learn_inducing": False, "tol": 1.0}
    classifier = GPClassifier(RBF(lengthscale=0.5, variance=9.0), **options)
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, classifier.fit(X, names[codes]), X, names[codes])
    return path.as_uri()


@pytest.mark.skipif(_CHROMIUM is None, reason="needs chromium (apt install chromium)")
def test_twenty_six_classes_in_a_browser(open_page):  # noqa: F811
    for width, media in ((320, "screen"), (1200, "screen"), (700, "print")):
        page = open_page(width)
        page.emulate_media(media=media)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = open_page(320)
    box = page.locator(".confusion")
    assert box.locator("tbody tr").count() == 26
    assert box.evaluate("(e) => e.scrollWidth > e.clientWidth")
    before = box.locator("tbody th").first.bounding_box()["x"]
    box.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    assert box.locator("tbody th").first.bounding_box()["x"] == before  # names stay in view
    heading = box.locator(f'th.turned span[title="{_LONG}"]')
    assert "…" in heading.inner_text()
    assert len(heading.inner_text()) <= 16
    shades = box.locator("td.right").evaluate_all(
        "(cells) => cells.map((e) => getComputedStyle(e).backgroundColor)"
    )
    assert len(set(shades)) > 1
    assert "rgba(0, 0, 0, 0)" not in shades
