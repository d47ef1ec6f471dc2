"""Tables of every unlikely shape: a clear error or a correct result, never a traceback."""

import csv
import io
import itertools
import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots.cli.app import app
from fewknots.cli.running import run
from fewknots.data.table_files import RawFiles
from fewknots.exceptions import DataError
from fewknots.tables.reading import NoProgress, Task, survey
from fewknots.tables.recipe import Recipe

from ..flights_table import flights

SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_NUMBERS = itertools.count()

cells = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "NA", "nan", "inf", "1e400", "-0", "007", "true", "2023-02-30", "1,5"]),
    st.floats().map(str),
    st.integers().map(str),
    st.dates().map(str),
    st.datetimes().map(str),
)
names = st.one_of(st.text(max_size=5), st.sampled_from(["y", "y", "a", "<script>", "a.b", " "]))
rows = st.lists(st.lists(cells, max_size=6), max_size=30)


def surveyed(path, target):
    """What a fit would see of a file: the recipe, and all rows encoded. Or a DataError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = RawFiles(str(path))
        recipe, labels, rows_of_files, _ = survey(files, Task(target), NoProgress())
    again = Recipe.from_header(json.loads(json.dumps(recipe.header())))
    assert again == recipe
    found = 0
    for batch, place in files.batches([*recipe.names, target]):
        X = recipe.encode(batch, place)
        assert X.shape == (batch.num_rows, len(recipe.feature_names))
        assert np.isfinite(X).all()
        assert set(labels.codes(batch.column(target), place)) <= set(range(len(labels.values)))
        found += batch.num_rows
    assert found == sum(rows_of_files)
    return recipe


def must_do_or_say_why(path, target):
    said = "."
    try:
        surveyed(path, target)
    except DataError as error:
        said = str(error)
    assert len(said) < 2000
    assert said.endswith((".", ")"))


@SETTINGS
@given(header=st.lists(names, min_size=1, max_size=6), rows=rows, ending=st.sampled_from(",\t"))
def test_ragged_tables_with_any_names(tmp_path, header, rows, ending):
    text = io.StringIO()
    csv.writer(text, delimiter=ending).writerows([header, *rows])
    path = tmp_path / f"{next(_NUMBERS)}{'.csv' if ending == ',' else '.tsv'}"
    path.write_text(text.getvalue(), encoding="utf-8", errors="replace", newline="")
    must_do_or_say_why(path, header[0])


kinds_of_cells = st.sampled_from(
    [
        st.floats(allow_nan=True).map(str),
        st.integers().map(str),
        st.booleans().map(str),
        st.dates().map(str),
        st.datetimes().map(str),
        st.times().map(str),
        st.sampled_from(["a", "b", "c d", ""]),
        st.text(max_size=8),
        cells,
    ]
)


@SETTINGS
@given(data=st.data(), n_rows=st.integers(2, 40), width=st.integers(1, 4))
def test_whole_tables_of_any_values(tmp_path, data, n_rows, width):
    """Rows as long as the header, two labels: most of these can be learned from."""
    columns = [["y", *(str(number % 2) for number in range(n_rows))]]
    for number in range(width):
        cell = data.draw(kinds_of_cells)
        values = data.draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        columns.append([f"c{number}", *values])
    text = io.StringIO()
    csv.writer(text).writerows(zip(*columns, strict=True))
    path = tmp_path / f"{next(_NUMBERS)}.csv"
    path.write_text(text.getvalue(), encoding="utf-8", errors="replace", newline="")
    must_do_or_say_why(path, "y")


@SETTINGS
@given(content=st.binary(max_size=300), ending=st.sampled_from(["csv", "tsv", "parquet", "arrow"]))
def test_any_bytes(tmp_path, content, ending):
    path = tmp_path / f"{next(_NUMBERS)}.{ending}"
    path.write_bytes(content)
    must_do_or_say_why(path, "y")


@SETTINGS
@given(
    words=st.lists(st.text(min_size=1, max_size=6), min_size=4, max_size=20),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"]),
)
def test_mixed_encodings(tmp_path, words, encoding):
    lines = ["w,x,y"]
    for number, word in enumerate(words):
        clean = "".join(c for c in word if c.isalnum()) or "ä"
        lines.append(f"{clean},{number},{number % 2}")
    path = tmp_path / f"{next(_NUMBERS)}.csv"
    path.write_bytes("\n".join(lines).encode(encoding, "replace") + b"\n\xff\xfe,3,1\n")
    must_do_or_say_why(path, "y")


arrow_types = st.sampled_from(
    [
        pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.null(),
        pa.date32(), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.decimal128(10, 2),
        pa.time32("s"), pa.binary(), pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.string()),
    ]
)  # fmt: skip


@SETTINGS
@given(data=st.data(), types=st.lists(arrow_types, min_size=1, max_size=5))
def test_arrow_columns_of_any_type(tmp_path, data, types):
    n_rows = data.draw(st.integers(0, 12))
    columns = {"y": pa.array([number % 2 == 0 for number in range(n_rows)])}
    for number, dtype in enumerate(types):
        columns[f"c{number}"] = _drawn(data, dtype, n_rows)
    path = tmp_path / f"{next(_NUMBERS)}.arrow"
    table = pa.table(columns)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    must_do_or_say_why(path, "y")


def _drawn(data, dtype, n_rows):
    """A column of that type with some nulls."""
    numbers = st.one_of(st.none(), st.integers(0, 99))
    raw = data.draw(st.lists(numbers, min_size=n_rows, max_size=n_rows))
    types = pa.types
    if types.is_null(dtype):
        return pa.nulls(n_rows)
    if types.is_list(dtype):
        return pa.array([None if value is None else [value] for value in raw], dtype)
    if types.is_dictionary(dtype) or types.is_string(dtype) or types.is_binary(dtype):
        words = pa.array([None if value is None else f"word {value % 3}" for value in raw])
        return words.dictionary_encode() if types.is_dictionary(dtype) else words.cast(dtype)
    if types.is_boolean(dtype):
        return pa.array([None if value is None else value % 2 == 0 for value in raw], dtype)
    if types.is_temporal(dtype):
        return pa.array(raw, pa.int32() if dtype.bit_width == 32 else pa.int64()).cast(dtype)
    return pa.array(raw, pa.float64()).cast(dtype)


def test_very_many_columns(tmp_path):
    path = tmp_path / "wide.csv"
    n_columns = 30_000
    header = ",".join(f"c{number}" for number in range(n_columns))
    path.write_text(f"y,{header}\n" + "\n".join([f"{n}{',1' * n_columns}" for n in (0, 1)]) + "\n")
    with pytest.raises(DataError, match="30,000 columns"):
        surveyed(path, "y")
    path.write_text("y," + ",".join(f"column{number}" for number in range(1_000_000)) + "\n")
    with pytest.raises(DataError):
        surveyed(path, "y")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    flights(200).to_csv(folder / "flights.csv", index=False)
    arguments = ["fit", f"{folder}/flights.csv", "-t", "late", "--inducing", "8", "--max-time", "1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(app, [*arguments, "--out", f"{folder}/m.fewknots"]) == 0
    return folder


columns = ["when", "distance", "carrier", "weekend", "seats", "id", "late"]


@SETTINGS
@given(
    order=st.permutations(columns),
    missing=st.lists(st.sampled_from(columns), max_size=2),
    twice=st.lists(st.sampled_from(columns), max_size=1),
    carrier=st.text(st.characters(exclude_characters="\r"), max_size=8),  # pandas writes it bare
    n_rows=st.integers(0, 5),
)
def test_prediction_from_other_tables(
    home, tmp_path, capfd, order, missing, twice, carrier, n_rows
):
    names = [name for name in order if name not in missing] + twice
    table = flights(5)
    table["carrier"] = carrier
    path, out = tmp_path / "new.csv", tmp_path / "scored.csv"
    out.unlink(missing_ok=True)
    table[names].head(n_rows).to_csv(path, index=False, errors="replace")
    capfd.readouterr()
    code = run(app, ["predict", f"{home}/m.fewknots", str(path), "--out", str(out)])
    said = capfd.readouterr().err
    needed = {"when", "distance", "carrier", "weekend", "seats"}
    fine = needed <= set(names) and len(set(names)) == len(names) and n_rows > 0
    assert code == (0 if fine else 1), said
    assert out.exists() == fine
    assert "Unexpected" not in said
    assert said.count("\n") == (0 if fine else 1)
