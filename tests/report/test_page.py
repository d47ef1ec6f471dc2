"""What is on the page, and that nothing of the user's can become part of it."""

import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from fewknots import GPClassifier
from fewknots.kernels import RBF, Constant, Linear, Periodic, Polynomial, RationalQuadratic
from fewknots.kernels.hyperparameters import formula, global_parameters, per_input
from fewknots.report import write_report

_HOSTILE = "<script>alert(1)</script>\"'&\u202e\x00"
_QUICK = {"learn_kernel": False, "learn_inducing": False, "random_state": 0}


class _Checker(HTMLParser):
    """Collects tags; every one that opens must close."""

    _WITHOUT_END = frozenset({"meta", "link", "input"})

    def __init__(self, text):
        super().__init__()
        self.opened, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.opened

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self._WITHOUT_END:
            self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)


def _report(path, *arguments, **options):
    write_report(path, *arguments, **options)
    text = path.read_text(encoding="utf-8")
    return text, _Checker(text)


def test_page_is_well_formed_and_has_every_figure(fitted, baselines, tmp_path):
    text, page = _report(tmp_path / "report.html", *fitted, baselines=baselines)
    pictures = [a for tag, a in page.tags if tag == "svg" and a.get("role") == "img"]
    assert len(pictures) == 15
    assert all(len(a["aria-label"]) > 20 for a in pictures)
    assert page.count("table") == 7
    for words in (
        "logistic regression",
        "majority class",
        "Reliability",
        "ROC",
        "Precision-recall",
    ):
        assert words in text
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids)) == 8
    assert {a["href"] for tag, a in page.tags if tag == "a"} == {f"#{name}" for name in ids}


def test_page_needs_nothing_from_elsewhere(fitted, tmp_path):
    text, page = _report(tmp_path / "report.html", *fitted)
    addresses = [a.get(k) for _, a in page.tags for k in ("src", "href") if a.get(k)]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert len(text) < 300_000


def test_the_same_twice(fitted, tmp_path):
    write_report(tmp_path / "a.html", *fitted)
    write_report(tmp_path / "b.html", *fitted)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_whatever_the_user_writes_stays_text(moons, tmp_path):
    X, y = moons
    labels = np.array(["</title><b>", _HOSTILE])[y]
    classifier = GPClassifier(n_inducing=5, **_QUICK).fit(X, labels)
    raw = pa.table({_HOSTILE: ["</td>" + _HOSTILE] * 80, "plain": list(range(80))})
    _, page_of_harmless = _report(tmp_path / "a.html", classifier, X, labels)
    text, page = _report(
        tmp_path / "b.html",
        classifier,
        X,
        labels,
        feature_names=[_HOSTILE, "<img src=x onerror=alert(1)>", "]]>"],
        rows=raw,
        title=_HOSTILE,
        about={_HOSTILE: {_HOSTILE: _HOSTILE}, "target": _HOSTILE, "model_file": _HOSTILE},
    )
    assert page.count("script") == page_of_harmless.count("script") == 1
    assert page.count("img") == 0
    assert page.count("b") == page_of_harmless.count("b") + 1  # the target's name
    assert "<script>alert" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in "".join(page.text)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(ard=False),
        Linear(),
        RBF() * Linear() + Constant(),
        Constant(),
        RationalQuadratic(columns=[0]) * Polynomial() + Periodic(columns=[1]),
    ],
)
def test_every_kernel(kernel, moons, tmp_path):
    X, y = moons
    classifier = GPClassifier(kernel, n_inducing=5, **_QUICK).fit(X, y)
    _report(tmp_path / "report.html", classifier, X, y)


def test_methods_one_input_and_one_class(moons, tmp_path):
    X, y = moons
    options = {"likelihood": "logit", "standardize": False, "learn_kernel": False}
    classifier = GPClassifier(method="laplace", **options).fit(X[:, :1], y)
    text, page = _report(tmp_path / "report.html", classifier, X[:5, :1], np.ones(5, int))
    assert "nothing to rank" in text
    assert not re.search(r"\b(nan|inf)\b", "".join(page.text), re.IGNORECASE)


def test_fit_without_a_history(fitted, tmp_path):
    from copy import copy

    classifier = copy(fitted[0])
    classifier.history_ = {"iteration": np.arange(3), "bound": np.array([-9.0, -5.0, -4.0])}
    text, _ = _report(tmp_path / "a.html", classifier, *fitted[1:])
    assert "over the iterations of training" in text
    classifier.history_ = {}
    text, _ = _report(tmp_path / "b.html", classifier, *fitted[1:])
    assert "of training." not in text


def test_tables_with_names_and_raw_rows(moons, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = moons
    frame = pd.DataFrame(X, columns=["height", "width", "age"])
    classifier = GPClassifier(n_inducing=5, **_QUICK).fit(frame, y)
    moments = pa.array(range(80), pa.timestamp("ns"))
    raw = pa.table({"id": [f"case {i}" for i in range(80)], "width": X[:, 1], "seen": moments})
    text, _ = _report(tmp_path / "a.html", classifier, frame, y, rows=raw)
    assert "height" in text
    assert "case 1" in text
    write_report(tmp_path / "b.html", classifier, X, y, rows=raw)  # an array serves as well
    assert (tmp_path / "b.html").read_text() == text


def test_model_card_holds_what_is_known_about_the_fit(fitted, tmp_path):
    about = {
        "target": "late",
        "n_rows": 12345,
        "model_file": "flights.fewknots",
        "seed": 7,
        "files": ["a.csv", "b.csv"],
        "versions": {"fewknots": "9.9", "jax": "8.8"},
        "hold_out": {"rows": 3, "scores": {"Gaussian process": {"nlp": 0.123456}}},
    }
    _, page = _report(tmp_path / "report.html", *fitted, about=about)
    words = "".join(page.text)
    for said in (
        "Predicting late",
        "learned from 12,345 rows",
        "load('flights.fewknots')",
        "Seed7",
        "a.csv, b.csv",
        "fewknots 9.9, jax 8.8",
        "Scores on the 3 rows that were held out at the fit",
        "Gaussian process0.1235",
        "Matern32 + Linear",
        "Matern32 lengthscale",
        "Linear variance per unit²",
    ):
        assert said in words


def test_hyperparameters_are_in_the_users_units():
    kernel = RBF(lengthscale=np.array([1.0, 2.0])) + Linear(variance=np.array(4.0), ard=False)
    kernel = kernel + RBF(lengthscale=np.array(3.0), variance=np.array(2.5))
    found = per_input(kernel, np.array([10.0, 0.5]))
    assert {name: values.tolist() for name, values in found.items()} == {
        "RBF 1 lengthscale": [10.0, 1.0],
        "Linear variance per unit²": [0.04, 16.0],
        "RBF 2 lengthscale": [30.0, 1.5],
    }
    assert global_parameters(kernel) == {"RBF 1 variance": 1.0, "RBF 2 variance": 2.5}
    assert formula(kernel * RBF()) == "(RBF + Linear + RBF) × RBF"


def test_errors_say_what_is_wrong(fitted, tmp_path):
    classifier, X, y = fitted
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match="the label of row 0 is 'maybe'"):
        write_report(path, classifier, X, np.full(len(X), "maybe"))
    with pytest.raises(ValueError, match="one label for each of 30 rows"):
        write_report(path, classifier, X, y[:3])
    with pytest.raises(ValueError, match="2 feature names for 3 columns"):
        write_report(path, classifier, X, y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="must be the same"):
        write_report(path, classifier, X, y, rows=pa.table({"a": [1]}))
    assert not list(tmp_path.iterdir())
