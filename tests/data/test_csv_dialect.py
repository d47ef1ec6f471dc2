"""CSV files as programs in different countries write them, read back the same."""

import csv
import gzip
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fewknots.data.csv_dialect import CsvOptions, Dialect, dialect_of, lines_of_rows, recognised
from fewknots.data.sources import open_source
from fewknots.data.table_files import RawFiles
from fewknots.data.table_writer import CsvWriter
from fewknots.exceptions import DataError

SETTINGS = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_NUMBERS = itertools.count()


def told(text, encoding="utf-8", **given):
    return recognised(text.encode(encoding), whole=True, options=CsvOptions(**given))


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1.5,x\n2,y\n", ",", "."),
        ("a;b\n1,5;x\n2;y\n", ";", ","),
        ("a;b\n1.5;x\n2;y\n", ";", "."),
        ("a\tb\n1,5\t2\n", "\t", ","),
        ("a|b\n1.5|2\n", "|", "."),
        ('a,b\n"1,5",x\n"2,75",y\n', ",", ","),
        ('a,b\n"1,500",x\n"22,750",y\n', ",", "."),  # thousands
        ("a;b\n1.234,5;2\n", ";", ","),
        ("a;b\n1,234.5;2\n", ";", "."),
        ("a;b\n0,123;2\n0,456;3\n", ";", ","),  # no number of thousands begins with 0
        ("a;b\n1,234;2\n5,678;3\n", ";", ","),  # in every cell
        ("a;b\n1,234;2\n567;3\n", ";", "."),  # in some
        ("a;b\n1.234;2\n567;3\n", ";", ","),
        ("a;b;c\n1,5;2,5;1.2.3\n", ";", ","),
        ("a;b\nNA;1,5\n-;2\n", ";", ","),
        ("Preis, netto;Menge, Stück\n1,5;2,5\n3,5;4,5\n", ";", ","),
        ("only\n1\n2\n", ",", "."),
        ('a;b\n"x;y\nz";1,5\n', ";", ","),
        ("a,b\nx;y,1\nz;w,2\n", ",", "."),
    ],
)
def test_separator_and_decimal_mark(text, separator, decimal):
    found = told(text)
    assert (found.separator, found.decimal, found.quote) == (separator, decimal, '"')


def test_single_quotes():
    assert told("a,b\n'x,y',1\n'it''s',2\n").quote == "'"
    assert told("a,b\n'tis,1\n'twas',2\n").quote == '"'
    assert told("a,b\n'x','1'\n\"y\",'2'\n").quote == '"'


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "latin-1"),
    ],
)
def test_encodings(tmp_path, encoding, name):
    text = "Stadt;Größe\nKöln;1,5\nMünchen;2,5\n"
    assert told(text, encoding).encoding == name
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    files = RawFiles(path)
    rows = pa.Table.from_batches([batch for batch, _ in files.batches(["Stadt", "Größe"])])
    assert rows.to_pydict() == {"Stadt": ["Köln", "München"], "Größe": ["1,5", "2,5"]}


def test_windows_has_more_letters_than_latin_1():
    assert told("a;b\n5 €;ä\n", "cp1252").encoding == "cp1252"


def test_a_letter_cut_in_two_is_still_utf_8():
    head = "a;b\nä;ö\n".encode()
    assert recognised(head[:-2], whole=False, options=CsvOptions()).encoding == "utf-8"


def test_what_is_given_goes_first():
    text = "a;b,c\n1;2,5\n"
    assert told(text).separator == ";"
    assert told(text, separator=",").separator == ","
    assert told("a;b\n1,234;2\n5,678;3\n", decimal=".").decimal == "."
    given = CsvOptions.checked("tab", "comma", "ISO-8859-1")
    assert given == CsvOptions("\t", ",", "iso8859-1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((";;", None, None), "one character"),
        (("", None, None), "one character"),
        ((None, "x", None), "a point or a comma"),
        ((None, None, "klingon"), "unknown encoding 'klingon'"),
        ((None, None, "base64"), "unknown encoding 'base64'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(DataError, match=message):
        CsvOptions.checked(*options)


def test_a_stream_of_rows_in_any_dialect(tmp_path):
    """`fit_stream` reads with it too: numbers with commas, labels as text."""
    path = tmp_path / "t.csv"
    path.write_bytes('x;y;label\n"1.000,5";-;Föhn\n2;-;Eis\n'.encode("latin-1"))
    source = open_source(path, target="label", features=["x"])
    (block,) = source.blocks()
    np.testing.assert_array_equal(block.X, [[1000.5], [2.0]])
    assert block.labels.tolist() == ["Föhn", "Eis"]
    with pytest.raises(DataError, match=r"t.csv, line 2: column 'y' has no value"):
        open_source(path, target="label")


def test_each_file_has_its_own_dialect(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;0\n")
    (tmp_path / "b.csv").write_text("x,y\n2.5,1\n")
    (tmp_path / "c.tsv").write_text("x\ty\n3.5\t1\n")
    blocks = list(open_source(tmp_path, target="y").blocks())
    assert [block.X.tolist() for block in blocks] == [[[1.5]], [[2.5]], [[3.5]]]
    assert [block.labels.tolist() for block in blocks] == [["0"], ["1"], ["1"]]


def test_lines_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "t.csv.gz"
    text = 'a,"b\nc"\r\n1,x\r\n\r\n2,"two\nlines"\r\n\r\n3,z\r\n'
    path.write_bytes(gzip.compress(text.encode()))
    dialect = dialect_of(path, CsvOptions(), ",")
    assert lines_of_rows(path, dialect, range(4)) == {0: 3, 1: 5, 2: 8}
    files = RawFiles(path)
    ((batch, place),) = files.batches(["a"])
    assert batch.num_rows == 3
    assert str(place.row(2)) == f"{path}, line 8"


def test_a_row_of_another_width_says_which_separator_was_seen(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n3;4;5\n")
    said = r"t.csv, line 3 has 3 fields, but the header has 2 .*separator semicolon.*--separator"
    with pytest.raises(DataError, match=said):
        list(RawFiles(path).batches(["a"]))


def test_line_breaks_in_cells_wherever_they_fall(tmp_path):
    """Files are read in blocks of 256 kB, and a row may lie across two of them."""
    path = tmp_path / "t.csv"
    cell = "first line\nsecond; line\n" * 20
    path.write_text("a;w\n" + "".join(f'{row};"{cell}"\n' for row in range(3000)))
    files = RawFiles(path)
    rows = pa.Table.from_batches([batch for batch, _ in files.batches(["a", "w"])])
    assert rows["a"].to_pylist() == [str(row) for row in range(3000)]
    assert set(rows["w"].to_pylist()) == {cell}
    place = next(place for _, place in files.batches(["a"]))
    assert str(place.row(2)) == f"{path}, line {2 + 2 * 41}"


def test_a_quote_that_is_never_closed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "3,0\n" * 20 + '"1,0\n' + "4,1\n" * 200_000)
    with pytest.raises(DataError, match=r"a row does not end, from .*closing quote \(\"\) may be"):
        list(RawFiles(path).batches(["a"]))


# --- round trips ----------------------------------------------------------------------------------

letters = st.characters(codec="latin-1", categories=["L", "N", "P", "S", "Zs"])
words = st.text(letters, max_size=8)


@SETTINGS
@given(
    numbers=st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=2, max_size=30),
    data=st.data(),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    grouped=st.booleans(),
)
def test_a_table_in_any_dialect_reads_back_the_same(
    tmp_path, numbers, data, separator, decimal, encoding, grouped
):
    texts = data.draw(st.lists(words, min_size=len(numbers), max_size=len(numbers)))
    numbers = [3.25, *numbers]  # proves the mark
    texts = ["Straße", *texts]
    marks = str.maketrans(",.", ".,") if decimal == "," else {}
    written = [
        f"{x:,.2f}".translate(marks) if grouped else f"{x:.2f}".translate(marks) for x in numbers
    ]
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=separator, lineterminator="\n")
    writer.writerow(["x", "Wört", "y"])
    writer.writerows(
        (x, text, row % 2) for row, (x, text) in enumerate(zip(written, texts, strict=True))
    )
    path = tmp_path / f"{next(_NUMBERS)}.csv"
    path.write_bytes(sink.getvalue().encode(encoding))
    found = dialect_of(path, CsvOptions(), ",")
    assert (found.separator, found.decimal) == (separator, decimal)
    blocks = list(open_source(path, target="y", features=["x"]).blocks(keep=["Wört", "x"]))
    X = np.concatenate([block.X for block in blocks])
    np.testing.assert_array_equal(X[:, 0], [float(f"{x:.2f}") for x in numbers])
    kept = pa.Table.from_batches([block.table for block in blocks])
    assert kept["Wört"].to_pylist() == texts
    assert kept["x"].to_pylist() == written


@SETTINGS
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=6)] * 2), min_size=1, max_size=12
    ),
    dialect=st.builds(
        Dialect, st.sampled_from(",;\t|"), st.sampled_from(".,"), st.sampled_from("\"'")
    ),
    width=st.integers(1, 2),
)
def test_what_is_written_is_what_was_there(tmp_path, rows, dialect, width):
    assume(not any("\x00" in cell for row in rows for cell in row))
    path = tmp_path / f"{next(_NUMBERS)}.csv"
    table = pa.table({name: [row[n] for row in rows] for n, name in enumerate("ab"[:width])})
    writer = CsvWriter(path, table.schema, dialect)
    writer.write_table(table)
    writer.close()
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file, delimiter=dialect.separator, quotechar=dialect.quote))
    assert found == [list("ab"[:width]), *(list(row[:width]) for row in rows)]
