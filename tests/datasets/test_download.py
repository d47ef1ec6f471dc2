"""Downloads: whole or not at all, and never used once they were changed."""

import json

import pytest

from fewknots.datasets import cache
from fewknots.datasets.cache import download
from fewknots.datasets.dataset import SourceError

ADDRESS = "https://example.org/table.csv"
CONTENT = b"a,b\n1,2\n" * 1000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "table.csv"


def test_a_file_arrives_with_a_record_and_is_not_asked_for_again(net, path):
    net.answers[ADDRESS] = CONTENT
    assert download(ADDRESS, path) == path
    assert path.read_bytes() == CONTENT
    record = json.loads(path.with_name("table.csv.json").read_text())
    assert record["source"] == ADDRESS
    assert record["sha256"] == cache.sha256_of(path)
    assert sorted(p.name for p in path.parent.iterdir()) == ["table.csv", "table.csv.json"]
    download(ADDRESS, path)
    assert net.asked == [ADDRESS]


@pytest.mark.parametrize("change", ["altered", "truncated", "record lost", "record garbled"])
def test_a_kept_file_that_was_changed_is_fetched_anew(net, path, change):
    net.answers[ADDRESS] = CONTENT
    download(ADDRESS, path)
    record = path.with_name("table.csv.json")
    if change == "altered":
        path.write_bytes(CONTENT[:-1] + b"!")
    elif change == "truncated":
        path.write_bytes(CONTENT[:-100])
    elif change == "record lost":
        record.unlink()
    else:
        record.write_text('{"sha256": 1')
    assert cache.recall(path) is None
    assert path.exists() == change.startswith("record")
    download(ADDRESS, path)
    assert path.read_bytes() == CONTENT
    assert len(net.asked) == 2


def test_an_answer_that_breaks_off_is_asked_for_again(net, path):
    net.answers[ADDRESS] = CONTENT
    net.cut_short = [ADDRESS]
    download(ADDRESS, path)
    assert path.read_bytes() == CONTENT
    assert net.asked == [ADDRESS, ADDRESS]


def test_an_answer_that_always_breaks_off_leaves_nothing(net, path):
    net.answers[ADDRESS] = CONTENT
    net.cut_short = [ADDRESS] * 3
    with pytest.raises(SourceError, match=r"table.csv: .*4000 bytes arrived of 8000 announced"):
        download(ADDRESS, path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(("status", "attempts"), [(404, 1), (503, 3)])
def test_refusals_name_the_address(net, path, status, attempts):
    net.answers[ADDRESS] = status
    with pytest.raises(SourceError, match=rf"{ADDRESS}: HTTPError: .*{status}"):
        download(ADDRESS, path)
    assert len(net.asked) == attempts
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/fewknots"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/fewknots"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/fewknots"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/fewknots/Cache"),
        ("linux", {"FEWKNOTS_CACHE": "/mine"}, "/mine"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_such_files(
    monkeypatch, platform, variables, expected
):
    for name in ("FEWKNOTS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert cache.cache_folder().as_posix() == expected
