"""Fingerprints of the rows of a fit: known again, counted, never read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewknots import ModelFileError
from fewknots.tables.learned_rows import LearnedRows, LearnedRowsCounter, RowPrints

RNG = np.random.default_rng(0)
KEY = bytes(range(16))


def learned_from(X, y, share=1.0, pieces=3):
    counter = LearnedRowsCounter(RowPrints(KEY, share))
    for some in np.array_split(np.arange(len(X)), pieces):
        counter.add(X[some], y[some])
    return counter.learned()


def labels(n):
    return RNG.integers(0, 2, n)


def test_rows_learned_from_are_known_again_and_others_are_not():
    X, y = RNG.normal(size=(500, 4)), labels(500)
    learned = learned_from(X[:400], y[:400])
    order = RNG.permutation(500)
    new = learned.new(learned.prints.entries(X[order], y[order]))
    np.testing.assert_array_equal(new, order >= 400)


def test_a_row_with_another_label_is_still_the_row():
    X, y = RNG.normal(size=(50, 2)), labels(50)
    learned = learned_from(X, y)
    assert not learned.new(learned.prints.entries(X, 1 - y)).any()


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=60))
@settings(max_examples=200, deadline=None)
def test_of_a_table_with_repeated_rows_exactly_those_held_out_are_new(table):
    """As a multiset of inputs and labels: which of two equal rows is meant, nobody can say."""
    X = np.array([[float(row[0])] for row in table]).reshape(-1, 1)
    y = np.array([row[1] for row in table], int)
    held = np.array([row[2] for row in table], bool)
    learned = learned_from(X[~held], y[~held])
    new = learned.new(learned.prints.entries(X, y)) if len(X) else held
    rows = np.column_stack([X[:, 0], y])
    assert sorted(map(tuple, rows[new])) == sorted(map(tuple, rows[held]))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30),
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=30),
)
@settings(max_examples=200, deadline=None)
def test_of_k_equal_rows_k_less_m_are_new_whatever_their_labels(fitted, given_rows):
    def arrays(rows):
        X = np.array([[float(row[0])] for row in rows]).reshape(-1, 1)
        return X, np.array([row[1] for row in rows], int)

    learned = learned_from(*arrays(fitted))
    X, y = arrays(given_rows)
    new = learned.new(learned.prints.entries(X, y))
    for value in range(3):
        k = sum(row[0] == value for row in given_rows)
        m = sum(row[0] == value for row in fitted)
        assert new[X[:, 0] == value].sum() == max(0, k - m)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), min_size=1, max_size=60
    )
)
@settings(max_examples=200, deadline=None)
def test_of_many_classes_too(table):
    """Exactly the rows held out are new; with other labels, as many of each kind of inputs."""
    X = np.array([[float(row[0])] for row in table])
    y, held = np.array([row[1] for row in table]), np.array([row[2] for row in table], bool)
    counter = LearnedRowsCounter(RowPrints(KEY, 1.0, label_bits=3))
    counter.add(X[~held], y[~held])
    learned = counter.learned()
    new = learned.new(learned.prints.entries(X, y))
    rows = np.column_stack([X[:, 0], y])
    assert sorted(map(tuple, rows[new])) == sorted(map(tuple, rows[held]))
    new = learned.new(learned.prints.entries(X, (y + 1) % 5))
    assert sorted(X[new, 0]) == sorted(X[held, 0])


def test_bits_for_labels():
    for n_classes, bits in ((2, 1), (3, 2), (4, 2), (5, 3), (1000, 10)):
        assert LearnedRowsCounter.of_rows(9, n_classes).prints.label_bits == bits
    X = RNG.normal(size=(1000, 1))
    prints = RowPrints(KEY, 1.0, 10)
    entries = prints.entries(X, np.arange(1000))
    np.testing.assert_array_equal(entries - prints.without_label(entries), np.arange(1000))
    assert prints.digest(X, np.arange(1000)) != prints.digest(X, np.arange(1000)[::-1])


def test_the_same_numbers_have_the_same_prints():
    prints, y = RowPrints(KEY), labels(3)
    X = np.array([[0.1, 0.0], [1.0 / 3.0, -2.5], [12345.678, 1e-9]])
    expected = prints.entries(X, y)
    np.testing.assert_array_equal(prints.entries(X.astype(np.float32).astype(float), y), expected)
    fewer_digits = np.array([[float(f"{x:.15g}") for x in row] for row in X])
    np.testing.assert_array_equal(prints.entries(fewer_digits, y), expected)
    np.testing.assert_array_equal(prints.entries(np.where(X == 0, -0.0, X), y), expected)
    np.testing.assert_array_equal(prints.entries(np.asfortranarray(X), y), expected)
    assert len(set(expected)) == 3
    assert not set(expected) & set(RowPrints(bytes(16)).entries(X, y))  # another model's key
    assert not set(expected) & set(prints.entries(X[:, ::-1], y))


def test_of_many_rows_a_share_that_does_not_depend_on_what_they_hold():
    X, y = RNG.normal(size=(20_000, 3)), labels(20_000)
    X[10_000:] = X[:10_000]  # equal rows are chosen together
    prints = RowPrints(KEY, 0.2)
    chosen = prints.chosen(X)
    assert 0.18 < chosen.mean() < 0.22
    np.testing.assert_array_equal(chosen[:10_000], chosen[10_000:])
    assert abs(X[chosen].mean()) < 0.05
    assert abs(y[chosen].mean() - 0.5) < 0.05
    learned = learned_from(X, y, share=0.2)
    assert learned.counts.sum() == chosen.sum()
    assert not learned.new(prints.entries(X[chosen], y[chosen])).any()


def test_a_share_is_kept_of_more_rows_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr("fewknots.tables.learned_rows.MOST_PRINTS", 1000)
    monkeypatch.setattr("fewknots.tables.learned_rows._BUFFERED", 300)
    counter = LearnedRowsCounter.of_rows(10_000)
    assert counter.prints.share == 0.1
    for _ in range(10):
        counter.add(RNG.normal(size=(1000, 2)), labels(1000))
    assert 850 < len(counter.learned().entries) < 1150
    assert LearnedRowsCounter.of_rows(900).prints.share == 1.0
    assert LearnedRowsCounter.of_rows(9).prints.key != LearnedRowsCounter.of_rows(9).prints.key


def test_how_many_rows_look_alike():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    assert learned_from(X, np.array([0, 0, 1, 1])).alike() == 0.5
    assert learned_from(RNG.normal(size=(50, 2)), labels(50)).alike() == 0.0
    assert learned_from(X[:0], labels(0)).alike() == 0.0


def test_prints_do_not_hold_the_rows():
    """Not even of a table with one column, whose value would fit into a print."""
    X = RNG.normal(size=(200, 1))
    learned = learned_from(X, labels(200))
    stored = learned.entries.view(np.float64)
    short = learned.entries.view(np.float32)
    short = short[np.isfinite(short)]  # the bits of a fingerprint may also say NaN
    for column in (X[:, 0], X[:, 0].astype(np.float32)):
        assert not np.isin(column, stored).any()
        assert not np.isin(column, short).any()


# --- in a file ------------------------------------------------------------------------------------


def test_there_and_back():
    X = np.repeat(RNG.normal(size=(40, 2)), RNG.integers(1, 400, 40), axis=0)
    learned = learned_from(X, labels(len(X)))
    arrays = learned.arrays()
    assert arrays["counts"].dtype == np.uint8 or arrays["counts"].max() > 255
    again = LearnedRows.restored(learned.header(), arrays, len(X))
    assert again.equals(learned)
    assert not again.equals(learned_from(X[1:], labels(len(X) - 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update(key="00"), "no proper key"),
        (lambda h, a: h.update(share=0.0), "no proper key or share"),
        (lambda h, a: h.update(share=2.0), "no proper key or share"),
        (lambda h, a: h.update(share=None), "not a finite number"),
        (lambda h, a: h.update(label_bits=64), "64 bits for labels"),
        (lambda h, a: h.update(label_bits="1"), "label_bits"),
        (lambda h, a: a.update(entries=a["entries"][::-1]), "not ascending"),
        (lambda h, a: a.update(entries=a["entries"].astype(np.int64)), "not ascending"),
        (lambda h, a: a.update(entries=a["entries"][None]), "not ascending"),
        (lambda h, a: a.update(counts=a["counts"][1:]), "not counted"),
        (lambda h, a: a.update(counts=a["counts"] * 0), "not counted"),
        (lambda h, a: a.update(counts=a["counts"].astype(float)), "not counted"),
        (lambda h, a: a.update(counts=a["counts"].astype(np.uint64) + 2**63), "fingerprints of"),
        (lambda h, a: a.update(counts=a["counts"] + np.uint8(1)), "fingerprints of"),
        (lambda h, a: a.update({k: v[1:] for k, v in a.items()}), "fingerprints of 39 rows"),
    ],
)
def test_forged_prints_are_refused(change, message):
    learned = learned_from(RNG.normal(size=(40, 2)), labels(40))
    header, arrays = learned.header(), learned.arrays()
    change(header, arrays)
    with pytest.raises(ModelFileError, match=message):
        LearnedRows.restored(header, arrays, 40)
