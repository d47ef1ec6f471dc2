"""Columns of every kind to numbers, and back from a header."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from fewknots.data.sources import NumberedLayout, Place
from fewknots.exceptions import DataError, ModelFileError
from fewknots.tables.recipe import Labels, Recipe, RecipeLearner
from fewknots.tables.recipe.labels import LabelLearner
from fewknots.tables.recipe.profile import predicts_target

HERE = Place("rows.csv")


def seen(columns, kinds=None, rows_at_once=7):
    """What has seen a table in small pieces, and the table."""
    table = pa.table(columns)
    learner = RecipeLearner(table.schema, table.column_names, kinds or {}, from_csv=False)
    place = HERE
    for batch in table.to_batches(max_chunksize=rows_at_once):
        learner.add(batch, place)
        place = place.row(batch.num_rows)
    return learner, table


def learned(columns, kinds=None):
    learner, table = seen(columns, kinds)
    return learner.recipe(), table


def feature(recipe, X, name):
    return X[:, recipe.feature_names.index(name)]


def test_numbers_and_flags_stand_for_themselves():
    recipe, table = learned({"x": [1, 2, 5], "flag": [True, False, True]})
    np.testing.assert_array_equal(recipe.encode(table, HERE), [[1, 1], [2, 0], [5, 1]])
    assert recipe.feature_names == ("x", "flag")
    assert [column.kind for column in recipe.columns] == ["number", "boolean"]


def test_a_missing_number_is_the_mean_and_says_so():
    recipe, table = learned({"x": [1.0, None, 3.0, math.nan], "z": [1, 2, 3, 4]})
    X = recipe.encode(table, HERE)
    np.testing.assert_array_equal(feature(recipe, X, "x"), [1, 2, 3, 2])
    np.testing.assert_array_equal(feature(recipe, X, "x (missing)"), [0, 1, 0, 1])
    later = pa.table({"x": [1.0, 2.0], "z": [1, None]})
    with pytest.raises(DataError, match=r"rows\.csv, row 1: column 'z' has no value, and none was"):
        recipe.encode(later, HERE)


def test_rows_that_cannot_be_encoded_leave_the_others_alone():
    recipe, _ = learned(
        {"x": [1.0, 2.0, 3.0], "z": [1.0, None, 3.0], "t": ["2023-01-01"] * 2 + [""]}
    )
    later = pa.table(
        {
            "x": ["1.5", "", "many", "inf", "4"],
            "z": ["", "1", "few", "2", "1e300"],
            "t": ["", "2023-01-05", "2023-01-06", "soon", "2023-01-07"],
        }
    )
    X, reasons = recipe.encode_what_can_be(later, HERE)
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(X[0, :3], [1.5, 2.0, 1.0])
    assert (X[1:] == 0.0).all()
    assert reasons == {
        1: "column 'x' has no value, and none was missing in the rows that the model was fitted to",
        2: "column 'x' is 'many', which is not a number; "
        "column 'z' is 'few', which is not a number",
        3: "column 'x' is infinite; "
        "column 't' is 'soon', which is not a date such as 2024-12-31 or 2024-12-31 23:59",
        4: "column 'z' is 1e+300, too large to compute with (the limit is 1e+100)",
    }


def test_numbers_that_cannot_be_computed_with():
    with pytest.raises(DataError, match=r"rows\.csv, row 8: column 'x' is infinite"):
        learned({"x": [1.0] * 8 + [math.inf]})
    recipe, _ = learned({"x": [1.0, 2.0]})
    with pytest.raises(DataError, match="too large"):
        recipe.encode(pa.table({"x": [1e300]}), HERE)
    with pytest.raises(DataError, match="row 0: column 'x' is 'many', which is not a number"):
        recipe.encode(pa.table({"x": ["many"]}), HERE)
    np.testing.assert_array_equal(recipe.encode(pa.table({"x": ["1.5"]}), HERE), [[1.5]])
    np.testing.assert_array_equal(recipe.encode(pa.table({"x": [2**60]}), HERE), [[2.0**60]])


def test_words_become_levels_rare_ones_a_pool():
    words = ["a"] * 50 + ["b"] * 30 + ["c", "d", None, None, None]
    recipe, table = learned({"w": words})
    assert recipe.feature_names == ("w=(missing)", "w=a", "w=b", "w=(other)")
    X = recipe.encode(table, HERE)
    np.testing.assert_array_equal(X.sum(axis=1), 1.0)
    np.testing.assert_array_equal(X.sum(axis=0), [3, 50, 30, 2])
    unseen = recipe.encode(pa.table({"w": ["never seen", ""]}), HERE)
    np.testing.assert_array_equal(unseen, [[0, 0, 0, 1], [1, 0, 0, 0]])


def test_without_a_pool_an_unseen_level_is_none_of_the_known():
    recipe, _ = learned({"w": ["a"] * 5 + ["b"] * 5})
    np.testing.assert_array_equal(recipe.encode(pa.table({"w": ["z"]}), HERE), [[0, 0]])


def test_words_however_arrow_holds_them():
    words = ["a", "b"] * 5
    recipe, table = learned({"w": words})
    expected = recipe.encode(table, HERE)
    for dtype in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        as_dtype = pa.table({"w": pa.array(words).cast(dtype)})
        np.testing.assert_array_equal(recipe.encode(as_dtype, HERE), expected)


def test_codes_that_look_like_numbers():
    recipe, _ = learned({"zip": [10115, 20095] * 5}, kinds={"zip": "text"})
    assert recipe.feature_names == ("zip=10115", "zip=20095")
    np.testing.assert_array_equal(recipe.encode(pa.table({"zip": ["20095"]}), HERE), [[0, 1]])


def test_moments_are_a_line_and_circles():
    moments = np.arange("2023-01-01T00", "2023-06-01T00", 5, dtype="datetime64[h]")
    recipe, table = learned({"t": moments.astype("datetime64[s]")})
    X = recipe.encode(table, HERE)
    days = (moments - np.datetime64("1970-01-01T00")) / np.timedelta64(24, "h")
    np.testing.assert_allclose(feature(recipe, X, "t: days since 1970"), days)
    for circle in ("day of year", "day of week", "time of day"):
        sin, cos = (feature(recipe, X, f"t: {circle} ({name})") for name in ("sin", "cos"))
        np.testing.assert_allclose(sin**2 + cos**2, 1.0)
    noon = feature(recipe, X, "t: time of day (cos)")[moments.astype(int) % 24 == 12]
    np.testing.assert_allclose(noon, -1.0)
    # A Sunday, and every other Sunday: the same place in the week.
    sundays = (moments.astype("datetime64[D]").astype(int) + 3) % 7 == 6
    assert np.ptp(feature(recipe, X, "t: day of week (sin)")[sundays]) < 1e-9


def test_a_circle_takes_part_if_the_rows_go_around_it():
    days = pa.array(np.arange("2023-01-01", "2023-01-03", dtype="datetime64[D]"))
    recipe, _ = learned({"t": days})
    assert recipe.feature_names == ("t: days since 1970",)


def test_moments_as_text_with_a_zone_and_missing():
    zone = pa.timestamp("us", "Europe/Berlin")
    times = [f"2023-0{month}-01 12:00:00" for month in range(1, 9)]
    local = pa.array(times).cast(pa.timestamp("us"))
    recipe, _ = learned({"t": [None, *local.to_pylist()]})
    X = recipe.encode(pa.table({"t": [*times, None]}), HERE)
    np.testing.assert_array_equal(feature(recipe, X, "t (missing)"), [0] * 8 + [1])
    np.testing.assert_array_equal(X[-1, 1:-1], 0.0)
    import pyarrow.compute as pc

    zoned, _ = learned({"t": pc.assume_timezone(local, "Europe/Berlin")})
    noon = feature(
        zoned,
        zoned.encode(pa.table({"t": pc.assume_timezone(local, zone.tz)}), HERE),
        "t: time of day (cos)",
    )
    np.testing.assert_allclose(noon, -1.0)
    with pytest.raises(DataError, match="column 't' is 'yesterday', which is not a date such as"):
        recipe.encode(pa.table({"t": ["yesterday"]}), HERE)


def test_columns_of_no_use_are_left_out_and_named():
    columns = {
        "x": range(30),
        "same": [1] * 30,
        "empty": pa.nulls(30),
        "names": [f"name {n}" for n in range(30)],
        "lists": [[1]] * 30,
    }
    learner, _ = seen(columns)
    assert learner.recipe().names == ("x",)
    said = {profile.name: profile for profile in learner.profiles()}
    assert said["x"].taken_as == "number"
    for name, why in (("same", "never changes"), ("empty", "has no value"), ("names", "holds 30")):
        assert said[name].taken_as == "skipped"
        assert why in said[name].notes[0]
    assert "list" in said["lists"].notes[0]
    with pytest.raises(DataError, match="no column can be used"):
        learned({"same": [1] * 30})


def test_too_many_columns():
    with pytest.raises(DataError, match=r"20,000 columns.*10,000 inputs at most"):
        learned({f"c{n}": [1.0] for n in range(20_000)})


def test_columns_by_name_not_by_place():
    recipe, table = learned({"x": [1.0, 2.0], "z": [3.0, 5.0]})
    shuffled = pa.table({"z": [3.0, 5.0], "more": ["a", "b"], "x": [1.0, 2.0]})
    np.testing.assert_array_equal(recipe.encode(shuffled, HERE), recipe.encode(table, HERE))
    with pytest.raises(DataError, match=r"rows\.csv has no column 'z'"):
        recipe.encode(pa.table({"x": [1.0]}), HERE)


def every_kind():
    times = np.arange("2023-01-01", "2023-05-01", dtype="datetime64[D]")
    return {
        "x": [None, *map(float, range(len(times) - 1))],
        "flag": [True, False] * (len(times) // 2),
        "w": (["a"] * 50 + ["b"] * 50 + [f"rare {n}" for n in range(50)])[: len(times)],
        "t": times,
    }


def test_a_header_holds_all_of_it():
    recipe, table = learned(every_kind())
    again = Recipe.from_header(json.loads(json.dumps(recipe.header())))
    assert again == recipe
    np.testing.assert_array_equal(again.encode(table, HERE), recipe.encode(table, HERE))


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "code", "name": "x"},
        {"kind": "number", "name": 3, "fill": None},
        {"kind": "number", "name": "x", "fill": "nan"},
        {"kind": "number", "name": "x", "fill": math.inf},
        {"kind": "number", "name": "x", "fill": None, "words_are_gaps": 1},
        {"kind": "text", "name": "x", "levels": "ab", "pooled": True},
        {"kind": "text", "name": "x", "levels": [1], "pooled": True},
        {"kind": "text", "name": "x", "levels": ["a"], "pooled": 1},
        {"kind": "date", "name": "x", "circles": ["century"], "fill": None, "zone": None},
        "number",
        None,
    ],
)
def test_a_header_is_not_trusted(entry):
    with pytest.raises(ModelFileError, match="recipe"):
        Recipe.from_header({"columns": [entry]})


def test_a_header_with_a_column_twice():
    number = {"kind": "number", "name": "x", "fill": None}
    with pytest.raises(ModelFileError, match="twice"):
        Recipe.from_header({"columns": [number, number]})


# --- labels ---------------------------------------------------------------------------------------


def labels_of(values, positive=None):
    learner = LabelLearner("y")
    learner.add(pa.array(values), HERE)
    return learner.labels(positive)


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["no", "yes"], None, ("no", "yes")),
        (["late", "on time"], "late", ("on time", "late")),
        ([True, False], None, (False, True)),
        ([True, False], "False", (True, False)),
        ([0, 1], None, (0, 1)),
        ([2, -1], "-1", (2, -1)),
        ([0.0, 1.0], "1", (0.0, 1.0)),
    ],
)
def test_any_two_values(values, positive, expected):
    labels = labels_of(values, positive)
    assert (labels.negative, labels.positive) == expected
    codes = labels.codes(pa.array([expected[1], expected[0]]), HERE)
    np.testing.assert_array_equal(codes, [1, 0])
    assert Labels.from_header(json.loads(json.dumps(labels.header()))) == labels


def test_the_same_label_in_another_file():
    labels = labels_of([False, True])
    np.testing.assert_array_equal(labels.codes(pa.array(["true", "false"]), HERE), [1, 0])
    numbers = labels_of([0, 1])
    np.testing.assert_array_equal(numbers.codes(pa.array(["1", "0"]), HERE), [1, 0])
    np.testing.assert_array_equal(numbers.codes(pa.array([1.0, 0.0]), HERE), [1, 0])
    categories = pa.array(["a", "b", "a"]).dictionary_encode()
    np.testing.assert_array_equal(labels_of(["a", "b"]).codes(categories, HERE), [0, 1, 0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [f"{n / 7:.4f}" for n in range(1500)],
            r"rows\.csv, row 1000: column 'y' is '142.8571', after 1,000 other labels "
            r"\('0.0000', .*Is the target a number\? GPRegressor",
        ),
        (["a", "a"], "there have to be two classes"),
        (["a", None], r"rows\.csv, row 1: column 'y' has no value"),
        (["a", ""], r"rows\.csv, row 1: column 'y' has no value"),
        ([1.0, math.nan], r"rows\.csv, row 1: column 'y' has no value"),
        ([[1], [2]], "Labels are text, numbers"),
    ],
)
def test_labels_that_will_not_do(values, message):
    with pytest.raises(DataError, match=message):
        labels_of(values)


def test_a_positive_label_that_does_not_occur():
    with pytest.raises(DataError, match="'maybe', but column 'y' holds 'no' and 'yes'"):
        labels_of(["no", "yes"], "maybe")
    with pytest.raises(DataError, match="'maybe', but the other labels"):
        labels_of(["no", "yes"]).codes(pa.array(["maybe"]), HERE)
    with pytest.raises(ModelFileError):
        Labels.from_header({"target": "y", "negative": 1, "positive": 1.0})
    with pytest.raises(ModelFileError):
        Labels.from_header({"target": "y", "negative": None, "positive": "a"})


# --- many labels ----------------------------------------------------------------------------------

CSV = Place("rows.csv", layout=NumberedLayout(1, cells_are_text=True))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["pear", "fig", "plum"], ("fig", "pear", "plum")),
        ([10, 9, 100], (9, 10, 100)),
        ([2.5, 0.5, 1.0], (0.5, 1.0, 2.5)),
    ],
)
def test_any_number_of_values(values, expected):
    labels = labels_of(values)
    assert (labels.values, labels.positive) == (expected, None)
    np.testing.assert_array_equal(labels.codes(pa.array(expected * 2), HERE), [0, 1, 2] * 2)
    assert Labels.from_header(json.loads(json.dumps(labels.header()))) == labels
    with pytest.raises(DataError, match=r"--positive chooses between two labels, .* holds 3"):
        labels_of(values, str(expected[0]))


def test_pieces_of_a_csv_with_numbers_first_and_a_word_later():
    learner = LabelLearner("y")
    learner.add(pa.array(["1", "10"]), CSV)
    learner.add(pa.array(["10", "other"]), CSV)
    labels = learner.labels(None)
    assert labels.values == ("1", "10", "other")
    np.testing.assert_array_equal(labels.codes(pa.array(["10", "1"]), CSV), [1, 0])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["TRUE", "False", "true"], (False, True)),
        (["TRUE", "yes", "true"], ("TRUE", "true", "yes")),
        (["1", "2", "1.0", "3"], (1, 2, 3)),
        (["1", "2", "1.0", "x"], ("1", "1.0", "2", "x")),
        (["a", "NA", "b", "1"], ("1", "NA", "a", "b")),
    ],
)
def test_however_a_csv_is_cut_its_labels_are_the_same(cells, expected):
    for size in range(1, len(cells) + 1):
        learner = LabelLearner("y")
        pieces = [pa.array(cells[i : i + size]) for i in range(0, len(cells), size)]
        for piece in pieces:
            learner.add(piece, CSV)
        labels = learner.labels(None)
        assert labels.values == expected
        whole = labels.codes(pa.array(cells), CSV)
        cut = np.concatenate([labels.codes(piece, CSV) for piece in pieces])
        np.testing.assert_array_equal(cut, whole)
        assert set(whole) == set(range(len(expected)))


def test_a_gap_among_numbers_is_found_where_it_is():
    learner = LabelLearner("y")
    for first, cells in ((0, ["1", "2"]), (2, ["1", "NA"]), (4, ["2"])):
        learner.add(pa.array(cells), CSV.row(first))
    with pytest.raises(DataError, match=r"row 4: column 'y' has no value"):
        learner.labels(None)


def test_one_label_written_in_two_ways_is_one():
    learner = LabelLearner("y")
    learner.add(pa.array(["1.0", "1", "2", "01"]), CSV)
    assert learner.labels(None).values == (1, 2)
    assert learner.profile().holds == "1 (75.0%), 2 (25.0%)"
    learner = LabelLearner("y")
    learner.add(pa.array(["TRUE", "true"]), CSV)
    with pytest.raises(DataError, match=r"'y' is True in every row .* two classes"):
        learner.labels(None)


def test_unseen_labels_and_gaps_are_told_apart():
    labels = labels_of(["a", "b", "c"])
    column = pa.array(["c", "x", None, "b", "x", "n/a", "y"])
    codes, reasons, unseen = labels.codes_where_known(column, HERE)
    np.testing.assert_array_equal(codes, [2, 0, 0, 1, 0, 0, 0])
    assert unseen == {"x": 2, "y": 1}
    assert sorted(reasons) == [1, 2, 4, 5, 6]
    assert reasons[4] == "column 'y' is 'x', which is none of the labels of the fit"
    assert reasons[2] == reasons[5] == "column 'y' has no label"
    with pytest.raises(DataError, match=r"row 1: column 'y' is 'x', but the other labels"):
        labels.codes(column[:2], HERE)


def test_levels_of_a_category_that_no_row_has():
    categories = pa.array(["a", "b", "c", "d"]).dictionary_encode()
    learner = LabelLearner("y")
    learner.add(categories[:3], HERE)
    labels = learner.labels(None)
    assert labels.values == ("a", "b", "c")
    codes, reasons, unseen = labels.codes_where_known(categories[1:3], HERE)
    assert (codes.tolist(), reasons, unseen) == ([1, 2], {}, {})
    np.testing.assert_array_equal(labels.codes(categories[1:3], HERE), [1, 2])


def test_the_targets_line_names_frequent_and_rare_classes():
    learner = LabelLearner("y")
    learner.add(pa.array(["a"] * 50 + ["b"] * 30 + ["c"] * 10 + ["d"] * 9 + ["e"]), HERE)
    profile = learner.profile()
    assert profile.holds == "5 classes: a (50.0%), b (30.0%), c (10.0%), ..."
    assert profile.notes == ("in fewer than 5 rows: e",)


@pytest.mark.parametrize("classes", [["a"], ["a", None, "b"], ["a", 1, 1.0], "ab", [["a"], "b"]])
def test_a_header_of_labels_that_lies(classes):
    with pytest.raises(ModelFileError):
        Labels.from_header({"target": "y", "classes": classes})


def test_a_column_that_says_which_of_many_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400).astype(float)
    assert predicts_target(10.0 * y, y, ordered=True)
    assert not predicts_target(rng.permutation(y), y, ordered=True)
    assert not predicts_target(np.where(y == 1, 1.0, 0.0), y, ordered=True)
    assert not predicts_target(rng.normal(size=400), y, ordered=True)
