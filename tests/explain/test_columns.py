"""What a classifier has learned of a table's columns, each made of several features.

What is expected is computed from the table itself: change a column there, encode the whole table
with the recipe, ask the classifier.
"""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from fewknots import GPClassifier
from fewknots.data.sources import Place
from fewknots.explain import (
    effect,
    importance,
    inputs_of,
    over_the_calendar,
    over_the_day,
    over_the_week,
    typical_row,
    without_names,
)
from fewknots.kernels import RBF
from fewknots.tables.recipe import RecipeLearner

HERE = Place("the table")
_MONDAY = datetime(2024, 1, 1)


def _classifier():
    kernel = RBF(lengthscale=3.0, variance=9.0)
    return GPClassifier(kernel, method="laplace", learn_kernel=False)


def _table(n=90, days=700, zone=None):
    """The label follows a text, the day of the week and a number; `noise` does nothing."""
    rng = np.random.default_rng(3)
    moments = [_MONDAY + timedelta(days=int(d)) for d in rng.integers(days, size=n)]
    moments[0], moments[1] = _MONDAY, _MONDAY + timedelta(days=days)
    words = rng.choice(["red", "green", "blue"], n).tolist()
    number = rng.normal(size=n)
    score = 2.0 * (np.array(words) == "red") + number
    score = score + 2.0 * np.array([moment.weekday() >= 5 for moment in moments])
    y = (score > 1.0).astype(int)
    numbers, flags = number.tolist(), (rng.random(n) < 0.5).tolist()
    numbers[2] = numbers[3] = flags[4] = flags[5] = moments[6] = moments[7] = None
    words[8] = words[9] = None
    words[10] = "rare"
    table = {
        "word": pa.array(words),
        "number": pa.array(numbers, pa.float64()),
        "flag": pa.array(flags, pa.bool_()),
        "day": pa.array(moments, pa.timestamp("us", zone)),
        "noise": pa.array(rng.normal(size=n)),
    }
    return pa.table(table), y


class _Fitted:
    """A table, its recipe, and a classifier of its features."""

    def __init__(self, **options):
        self.table, self.y = _table(**options)
        learner = RecipeLearner(self.table.schema, self.table.column_names, {}, from_csv=False)
        for batch in self.table.to_batches():
            learner.add(batch, HERE)
        self.recipe = learner.recipe()
        X = self.recipe.encode(self.table, HERE)
        classifier = _classifier().fit(X, self.y)
        self.rows = without_names(classifier, X, self.recipe.feature_names)
        self.inputs = inputs_of(self.rows, self.recipe)

    def input(self, name):
        return next(one for one in self.inputs if one.name == name)

    def mean_with(self, name, values):
        """The mean probability when a column of the table has these values."""
        place = self.table.column_names.index(name)
        column = pa.array(values, self.table.schema.field(name).type)
        X = self.recipe.encode(self.table.set_column(place, name, column), HERE)
        return self.rows.classifier.predict_proba(X)[:, 1].mean()

    def mean_at(self, name, value):
        return self.mean_with(name, [value] * len(self.table))


@pytest.fixture(scope="module")
def fitted():
    return _Fitted()


def test_features_of_one_column_are_one_input(fitted):
    assert [one.name for one in fitted.inputs] == ["word", "number", "flag", "day", "noise"]
    assert [one.kind for one in fitted.inputs] == ["text", "number", "boolean", "date", "number"]
    assert [one.n_features for one in fitted.inputs] == [5, 2, 2, 6, 1]
    assert sum(one.n_features for one in fitted.inputs) == fitted.rows.X.shape[1]
    features = inputs_of(fitted.rows)
    assert [one.name for one in features] == list(fitted.recipe.feature_names)
    with pytest.raises(ValueError, match="the recipe makes 16 features, X has 3 columns"):
        inputs_of(fitted.rows._replace(X=fitted.rows.X[:, :3]), fitted.recipe)


def test_importance_is_what_shuffling_a_column_of_the_table_loses(fitted):
    found = importance(fitted.rows, fitted.y, fitted.inputs, seed=5)
    assert (found.n_rows, found.n_shuffles) == (90, 5)
    rng = np.random.default_rng(5)
    each = np.arange(90), fitted.y

    def nlp(table):
        return -fitted.rows.classifier.predict_log_proba(fitted.recipe.encode(table, HERE))[each]

    for place, name in enumerate(fitted.table.column_names):
        losses = []
        for _ in range(5):
            column = fitted.table.column(name).take(pa.array(rng.permutation(90)))
            losses.append(nlp(fitted.table.set_column(place, name, column)) - nlp(fitted.table))
        assert found.loss[place] == pytest.approx(np.mean(losses), rel=1e-9)
    assert set(found.order[:3]) == {0, 1, 3}  # those that the label follows
    assert np.all(found.low <= found.loss)
    assert np.all(found.loss <= found.high)
    assert found.low[0] > 0


def test_importance_has_an_interval_that_shrinks_with_the_rows(fitted):
    few = fitted.rows._replace(X=fitted.rows.X[:30])
    wide = importance(few, fitted.y[:30], fitted.inputs)
    narrow = importance(fitted.rows, fitted.y, fitted.inputs)
    assert (narrow.high - narrow.low)[0] < (wide.high - wide.low)[0]


def test_effect_of_a_text_is_what_the_model_says_of_each_level(fitted):
    found = effect(fitted.rows, fitted.input("word"))
    assert found.labels == ("(missing)", "blue", "green", "red", "(other)")
    for label, value in zip(found.labels, [None, "blue", "green", "red", "new"], strict=True):
        at = found.labels.index(label)
        assert found.probability[at] == pytest.approx(fitted.mean_at("word", value), rel=1e-9)
    assert np.all((found.low <= found.probability) & (found.probability <= found.high))
    assert found.left_out == 0


def test_effect_of_a_boolean_and_of_a_number_with_gaps(fitted):
    flag = effect(fitted.rows, fitted.input("flag"))
    assert flag.labels == ("no", "yes", "(missing)")
    for probability, value in zip(flag.probability, [False, True, None], strict=True):
        assert probability == pytest.approx(fitted.mean_at("flag", value), rel=1e-9)
    number = effect(fitted.rows, fitted.input("number"))
    assert not number.separate
    at = fitted.mean_at("number", number.values[20])
    assert number.probability[20] == pytest.approx(at, rel=1e-9)
    assert number.missing[0] == pytest.approx(fitted.mean_at("number", None), rel=1e-9)
    # the mean that stands for the missing ones is no value of the column
    values = np.array(fitted.table["number"].drop_null())
    assert number.values[0] == pytest.approx(np.quantile(values, 0.01))
    assert effect(fitted.rows, fitted.input("noise")).missing is None


def test_effect_of_a_few_days_is_what_the_model_says_of_each():
    fitted = _Fitted(days=15)
    found = over_the_calendar(fitted.rows, fitted.input("day"))
    assert len(found.values) == 15
    assert np.all(np.diff(found.values) == 1.0)
    day = datetime(1970, 1, 1) + timedelta(days=float(found.values[4]))
    assert found.probability[4] == pytest.approx(fitted.mean_at("day", day), rel=1e-9)
    assert found.missing[0] == pytest.approx(fitted.mean_at("day", None), rel=1e-9)


def test_days_of_a_time_zone_are_those_of_its_clocks():
    fitted = _Fitted(days=15, zone="America/New_York")
    found = over_the_calendar(fitted.rows, fitted.input("day"))
    day = datetime(1970, 1, 1) + timedelta(days=float(found.values[4]))
    # each row keeps its time of day, 19:00 there; where none is known it is that of the mean
    missing = timedelta(days=fitted.recipe.columns[3].fill % 1.0)
    clocks = [
        missing if m is None else timedelta(hours=19) for m in fitted.table["day"].to_pylist()
    ]
    in_utc = [day + clock + timedelta(hours=5) for clock in clocks]
    assert found.probability[4] == pytest.approx(fitted.mean_with("day", in_utc), rel=1e-9)


def test_effect_over_two_years_is_made_of_whole_weeks(fitted):
    one = fitted.input("day")
    found = over_the_calendar(fitted.rows, one)
    assert np.all(np.diff(found.values) % 7 == 0)
    assert len(found.values) <= 40
    assert datetime(1970, 1, 1) + timedelta(days=float(found.values[0])) >= _MONDAY
    week = over_the_week(fitted.rows, one)
    assert week.labels[0] == "Mon"
    # the weekends stand out over the week, and make no zigzag of the calendar
    assert week.probability[5:].min() > week.probability[:5].max() + 0.05
    assert np.abs(np.diff(found.probability)).max() < 0.3 * week.span
    assert over_the_day(fitted.rows, one) is None


def test_days_of_the_week_are_those_of_each_rows_own_week(fitted):
    moments = fitted.table["day"].to_pylist()
    mean = int(fitted.recipe.columns[3].fill)  # stands for the missing ones
    filled = [moment or datetime(1970, 1, 1) + timedelta(days=mean) for moment in moments]
    thursdays = [moment - timedelta(days=moment.weekday() - 3) for moment in filled]
    found = over_the_week(fitted.rows, fitted.input("day"))
    assert found.probability[3] == pytest.approx(fitted.mean_with("day", thursdays), rel=1e-9)


def test_hours_and_moments_of_one_day():
    rng = np.random.default_rng(0)
    moments = [_MONDAY + timedelta(minutes=int(m)) for m in rng.integers(1440, size=60)]
    late = np.array([moment.hour >= 12 for moment in moments]).astype(int)
    table = pa.table({"at": pa.array(moments, pa.timestamp("us"))})
    learner = RecipeLearner(table.schema, ["at"], {}, from_csv=False)
    learner.add(table.to_batches()[0], HERE)
    recipe = learner.recipe()
    X = recipe.encode(table, HERE)
    rows = without_names(_classifier().fit(X, late), X, recipe.feature_names)
    (one,) = inputs_of(rows, recipe)
    hours = over_the_day(rows, one)
    assert hours.values[[0, -1]].tolist() == [0.0, 24.0]
    assert hours.probability[hours.values > 14].min() > hours.probability[hours.values < 10].max()
    assert over_the_week(rows, one) is None
    calendar = over_the_calendar(rows, one)
    moment = _MONDAY + timedelta(days=float(calendar.values[9]) - 19723)
    encoded = recipe.encode(pa.table({"at": pa.array([moment], pa.timestamp("us"))}), HERE)
    expected = rows.classifier.predict_proba(encoded)[0, 1]
    assert calendar.probability[9] == pytest.approx(expected, rel=1e-6)


def test_typical_row_is_one_that_could_be(fitted):
    row = typical_row(fitted.rows, fitted.inputs)
    word, day = fitted.input("word").features, fitted.input("day").features
    assert sorted(row[word]) == [0, 0, 0, 0, 1]
    assert row[day][1] ** 2 + row[day][2] ** 2 == pytest.approx(1.0)
    assert row[fitted.input("flag").features.start] in (0.0, 1.0)
    assert row[fitted.input("number").features].tolist()[1] == 0.0
