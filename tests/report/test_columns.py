"""A report on a table: its columns, not what they were encoded as."""

import re

import numpy as np
import pyarrow as pa
import pytest

from fewknots import GPClassifier
from fewknots.report import write_report
from fewknots.report.calendar_axis import calendar_ticks, dated
from fewknots.report.comparison import compare_with_best
from fewknots.report.labels import label, shortened, svg_label
from fewknots.scoring import difference_interval

from .conftest import LONG

_UNKNOWN = "It cannot be known here whether the model learned from these rows."


@pytest.fixture(scope="module")
def text(of_a_table, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    about = {
        "target": "late",
        "n_rows": 60,
        "files": ["a.csv", "b.csv", "c.csv", "d.csv"],
        "n_files": 25,
        "date": "2026-03-04T05:06:07+00:00",
        "checked_on": "These rows came after all others.",
    }
    write_report(path, *of_a_table[:3], **of_a_table.options(), about=about)
    return path.read_text(encoding="utf-8")


def _between(text, begin, end):
    return text.partition(begin)[2].partition(end)[0]


def test_one_ranking_over_the_users_columns(text, of_a_table):
    told = _between(text, 'aria-label="Loss in nats a row when a column is shuffled', '"')
    for name in of_a_table.recipe.names:
        assert name in told
    losses = [float(number) for number in re.findall(r" (-?\d\.\d{4})[,.]", told)]
    assert len(losses) == len(of_a_table.recipe.names) == 10
    assert losses == sorted(losses, reverse=True)
    # the three columns that the labels follow are named first
    assert re.search(r"What matters most: <b>(.*?)</b>, <b>(.*?)</b>, <b>(.*?)</b>", text)
    first = set(re.findall(r"<b>(.*?)</b>", _between(text, "What matters most: ", "</p>")))
    assert first == {"measure_0", "sector", "booked"}
    assert "predicted from 10 columns" in text


def test_parts_of_a_date_appear_in_the_detail_alone(text):
    before, _, detail = text.partition("Detail: how quickly the function changes")
    assert "(sin)" not in before
    assert "days since 1970" not in before
    assert "booked: day of year (sin)" in detail
    assert "It is no ranking" in detail
    assert "sector=" not in before


def test_a_date_has_a_curve_over_the_calendar(text):
    drawn = _between(text, '<p class="title">booked</p>', "</figure>")
    assert "Effect of booked: the mean probability of yes goes from" in drawn
    assert re.search(r"at 202\d-\d\d-\d\d to", drawn)
    assert re.findall(r">(202\d(?:-\d\d)?)</text>", drawn)
    bars = _between(text, '<p class="title">sector</p>', "</figure>")
    assert bars.count('class="bar positive"') == 3
    assert LONG in bars


def test_a_report_without_a_recipe_ranks_its_features(fitted, tmp_path):
    write_report(tmp_path / "a.html", *fitted, feature_names=["one", "two", "three"])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    told = _between(text, 'aria-label="Loss in nats a row when a column is shuffled', '"')
    assert {"one", "two", "three"} <= set(re.findall(r"\w+", told))
    assert _UNKNOWN in text


def test_the_card_speaks_in_sentences(text):
    card = _between(text, 'id="card"', "</section>")
    for said in (
        "This model gives the probability that late is yes rather than no.",
        "It learned from 60 rows of a.csv, b.csv, c.csv and 22 more files on 2026-03-04: 10 columns"
        ", which become 17 numbers.",
        "It was checked on 60 rows. These rows came after all others. It answers ",
        "Do not use it for rows of another kind",
        "The rows it learned from are in it, as numbers",
        "loading it runs nothing",
        "95 % interval",
    ):
        assert said in card.replace("&#x27;", "'")
    assert card.index("<p>") < card.index("<dl>")
    assert "These rows came after all others." in _between(text, "<header>", "</header>")
    assert _UNKNOWN not in text
    assert "held out" not in text


def test_the_card_takes_the_word_of_who_knows_what_is_in_the_file(fitted, tmp_path):
    about = {"holds": "8 inducing points; none of them is a row of the table."}
    write_report(tmp_path / "a.html", *fitted, about=about)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    said = "The model file holds 8 inducing points; none of them is a row of the table. It contains"
    assert said in text
    assert "<dt>Holds" not in text


def test_a_small_difference_on_a_few_rows_is_left_open(moons):
    _, y = moons
    y = y[:45]
    rng = np.random.default_rng(0)
    p = np.clip(0.5 + 0.3 * (y - 0.5) + 0.1 * rng.normal(size=45), 0.05, 0.95)
    log_p = np.log(np.column_stack([1 - p, p]))
    alike = p + 0.02 * (-1.0) ** np.arange(45)
    found = compare_with_best(log_p, y, {"nothing": np.full(45, 0.5), "logistic": alike})
    assert found.baseline == "logistic"
    assert found.low < 0 < found.high
    assert found.low < found.gain < found.high
    assert found.words.startswith("These 45 rows do not tell whether the model is better")
    assert "95 % interval -" in found.interval
    own = -log_p[np.arange(45), y]
    theirs = -np.log(np.where(y == 1, alike, 1 - alike))
    assert (found.low, found.high) == pytest.approx(difference_interval(theirs, own))
    assert compare_with_best(log_p, y, {"nothing": np.full(45, 0.5)}).words.startswith(
        "The model is better than the best baseline, nothing, by 0."
    )
    perfect = np.where(y == 1, 0.99, 0.01)
    assert "is worse than a baseline" in compare_with_best(log_p, y, {"oracle": perfect}).words
    assert compare_with_best(log_p, y, {}) is None


def test_texts_without_end_leave_the_page_small(moons, tmp_path):
    X, y = moons
    endless = "x" * 1_000_000
    labels = np.array([endless[:90_000] + " no", endless[:90_000] + " yes"])[y]
    classifier = GPClassifier(n_inducing=5, learn_kernel=False, learn_inducing=False)
    rows = pa.table({endless: [endless] * 80, "plain": list(range(80))})
    names = [endless + str(i) for i in range(3)]
    about = {"target": endless, "model_file": endless, "note": [endless] * 9, endless: 1}
    write_report(
        tmp_path / "report.html",
        classifier.fit(X, labels),
        X,
        labels,
        feature_names=names,
        rows=rows,
        title=endless,
        about=about,
    )
    assert (tmp_path / "report.html").stat().st_size < 500_000


def test_shortened_in_the_middle():
    text = "Wholesale of agricultural raw materials"
    assert shortened(text, 30) == "Wholesale of agr…raw materials"
    assert shortened(text, len(text)) == text
    for most in range(3, len(text)):
        written = shortened(text, most)
        head, _, tail = written.partition("…")
        assert len(written) <= most
        assert text.startswith(head)
        assert text.endswith(tail)
        assert tail
    assert label("short") == "short"
    assert label("<i>" * 30).startswith('<span title="&lt;i&gt;')
    assert svg_label(text, 30, x=1) == (
        f'<text x="1"><title>{text}</title>Wholesale of agr…raw materials</text>'
    )


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (18993, 20000, ["2022", "2023", "2024"]),
        (19723, 19813, ["2024-01", "2024-02", "2024-03"]),
        (19723, 19743, ["2024-01-01", "2024-01-08", "2024-01-15"]),
        (19723.0, 19723.9, ["01-01 00:00", "01-01 06:00", "01-01 12:00", "01-01 18:00"]),
        (-719_000, 2_900_000, ["2000", "4000", "6000", "8000"]),
    ],
)
def test_ticks_of_a_calendar(low, high, labels):
    found = calendar_ticks(float(low), float(high))
    assert [words for _, words in found] == labels
    assert all(low <= place <= high for place, _ in found)
    if labels[0] == "2022":
        assert [dated(place) for place, _ in found] == ["2022-01-01", "2023-01-01", "2024-01-01"]
