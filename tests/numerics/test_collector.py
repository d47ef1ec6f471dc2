"""Python's search for cycles is held back within a block, and is as the user had it after that."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from fewknots.numerics.collector import collector_held


def test_no_search_begins_within_the_block_even_if_an_inner_one_has_ended():
    with collector_held():
        with collector_held():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_within_the_block_ends_it():
    with pytest.raises(RuntimeError, match="a broken import"), collector_held():
        raise RuntimeError("a broken import")
    assert gc.isenabled()


def test_a_user_who_switched_it_off_finds_it_off():
    gc.disable()
    try:
        with collector_held():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_two_threads_switches_it_on():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with collector_held():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with collector_held():
        thread.start()
        assert entered.wait(60)
    assert not gc.isenabled()
    leave.set()
    thread.join(60)
    assert gc.isenabled()


_FORK = """
import gc, os, sys, threading
from fewknots.numerics.collector import collector_held
entered, leave = threading.Event(), threading.Event()
def other():
    with collector_held():
        entered.set()
        leave.wait(60)
thread = threading.Thread(target=other)
thread.start()
entered.wait(60)
child = os.fork()
if child == 0:
    os._exit(0 if gc.isenabled() else 3)
leave.set()
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_does_not_wait_for_the_blocks_of_threads_that_it_lost():
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], check=True)


def test_what_the_user_has_set_aside_stays_there():
    gc.freeze()
    try:
        aside = gc.get_freeze_count()
        with collector_held():
            pass
        assert gc.get_freeze_count() == pytest.approx(aside, abs=1000)
    finally:
        gc.unfreeze()


def test_cycles_made_within_the_block_are_found_later():
    class Held:
        pass

    ended = []
    with collector_held():
        one, other = Held(), Held()
        one.other, other.other = other, one
        weakref.finalize(one, ended.append, "ended")
        del one, other
        assert not ended
    gc.collect()
    assert ended == ["ended"]


_IMPORT = """
import gc
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase))
from fewknots import GPClassifier
print(searches.count("stop"), gc.isenabled())
"""


def test_an_import_does_not_search():
    command = [sys.executable, "-W", "ignore", "-c", _IMPORT]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    assert int(printed[0]) < 10  # without the block: hundreds
    assert printed[1] == "True"
