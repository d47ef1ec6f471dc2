"""A folder of compiled programs: what is read from it is what was written, or nothing."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from fewknots.numerics.program_folder import ProgramFolder, UnusableFolderError


@pytest.fixture
def place(tmp_path):
    return tmp_path / "programs"


def files(place):
    return sorted(path for path in place.glob("*/*"))


def test_there_and_back(place):
    ProgramFolder(place, "this machine").write("one", b"code")
    again = ProgramFolder(place, "this machine")
    assert again.read("one") == b"code"
    assert again.read("two") is None
    assert ProgramFolder(place, "another machine").read("one") is None
    assert place.stat().st_mode & 0o777 == 0o700
    assert files(place)[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("length", [0, 10, 32, 35, 36])
def test_a_damaged_file_is_not_read_and_removed(place, length):
    folder = ProgramFolder(place, "here")
    folder.write("one", b"code")
    (path,) = files(place)
    whole = path.read_bytes()
    path.write_bytes(whole[:length] if length < len(whole) else whole[:-1] + b"x")
    assert folder.read("one") is None
    assert files(place) == []


def test_a_program_under_the_name_of_another_is_not_read(place):
    folder = ProgramFolder(place, "here")
    folder.write("one", b"code")
    (path,) = files(place)
    path.rename(path.with_name("two"))
    assert folder.read("two") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(place, mode):
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(UnusableFolderError, match="others can write to it"):
        ProgramFolder(place, "here")


def test_a_link_is_not_used(place, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnusableFolderError, match="is a link"):
        ProgramFolder(place, "here")


def test_a_folder_or_a_file_of_another_user_is_not_used(place, monkeypatch):
    folder = ProgramFolder(place, "here")
    folder.write("one", b"code")
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert folder.read("one") is None
    with pytest.raises(UnusableFolderError, match="belongs to another user"):
        ProgramFolder(place, "here")
    monkeypatch.undo()
    assert folder.read("one") == b"code"


def test_a_file_that_others_can_write_to_or_a_link_is_not_read(place):
    folder = ProgramFolder(place, "here")
    folder.write("one", b"code")
    (path,) = files(place)
    path.chmod(0o666)
    assert folder.read("one") is None
    path.chmod(0o600)
    path.rename(place / "moved")
    path.symlink_to(place / "moved")
    assert folder.read("one") is None


def test_where_nothing_can_be_written_it_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableFolderError, match="cannot be written to"):
        ProgramFolder(tmp_path / "file" / "programs", "here")


def test_what_cannot_be_written_later_is_done_without(place):
    folder = ProgramFolder(place, "here")
    next(place.iterdir()).rmdir()
    folder.write("one", b"code")
    assert folder.read("one") is None


def test_the_oldest_are_removed_whatever_the_machine(place):
    old = ProgramFolder(place, "old machine", most=500)
    old.write("zero", b"0" * 68)
    (first,) = files(place)
    os.utime(first, (0, 0))
    folder = ProgramFolder(place, "here", most=500)
    for place_in_time, name in enumerate("abcd"):
        folder.write(name, bytes(68))
        path = next(path for path in files(place) if path.name == name)
        os.utime(path, (1 + place_in_time,) * 2)
    assert folder.read("a") is not None  # now it is the newest
    folder.write("e", bytes(68))
    assert {path.name for path in files(place)} == set("acde") | {"b"}
    folder.write("f", bytes(68))
    assert {path.name for path in files(place)} == set("acdef")
    assert not first.exists()
    folder.write("large", bytes(1000))
    assert files(place) == []


def _write_and_read(place):
    folder = ProgramFolder(place, "here", most=20_000)
    found = []
    for turn in range(300):
        number = turn // 2 % 7  # twice in a row: all seven in turn would never be found again
        name, wanted = str(number), str(number).encode() * 1000 * (1 + number)
        content = folder.read(name)
        if content is not None:
            found.append(content == wanted)
        else:
            folder.write(name, wanted)
    return found


def test_two_processes_at_once(place):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for found in pool.map(_write_and_read, [place, place]):
            assert found
            assert all(found)
    assert sum(path.stat().st_size for path in files(place)) <= 20_000
