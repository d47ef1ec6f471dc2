"""The test suite's own memory: programs are dropped when there are many, and only then."""

import jax
import numpy as np
import pytest

from .memory import MB, ProgramStore, give_back, resident

pytestmark = pytest.mark.skipif(resident() == 0, reason="needs /proc to know its memory")


@pytest.fixture
def program():
    compiled = jax.jit(lambda x: x + 1.0)
    compiled(np.zeros(3))
    assert compiled._cache_size() == 1
    return compiled


def test_programs_stay_while_there_is_room(program):
    ProgramStore(most=resident() + 1000 * MB).drop_if_many()
    assert program._cache_size() == 1


def test_many_programs_are_dropped_once_and_work_again(program):
    store = ProgramStore(most=1)
    store.drop_if_many()
    assert program._cache_size() == 0
    np.testing.assert_array_equal(program(np.zeros(3)), np.ones(3))
    store.drop_if_many()  # hardly any growth since
    assert program._cache_size() == 1


def test_what_is_free_goes_back_to_the_machine():
    give_back()  # what earlier tests have left would be used first
    before = resident()
    many = [bytes(1000) for _ in range(300_000)]
    last, grown = many[-1], resident()
    assert grown > before + 150 * MB
    del many
    give_back()
    assert resident() < grown - 100 * MB
    assert len(last) == 1000
