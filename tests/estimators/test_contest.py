"""method="auto" above 2000 rows (here 900): the better of two methods on held-out rows."""

import itertools
import time
import warnings
from copy import copy

import numpy as np
import pytest

from fewknots import GPClassifier, load
from fewknots.fitting import combination, contest, plan, start
from fewknots.fitting.contest import held_out
from fewknots.fitting.plan import competes

from ..contests import small_contests

RNG = np.random.default_rng(0)
N = 1200


CENTRES = RNG.normal(size=(N // 5, 3))
COLOURS = RNG.choice(["black", "white"], size=len(CENTRES))


def heaps(n=N):
    """Hundreds of small heaps, each of one colour: far too many for a few inducing points."""
    heap = RNG.permutation(n) % len(CENTRES)
    return CENTRES[heap] + 0.01 * RNG.normal(size=(n, 3)), COLOURS[heap]


def plane(n=N):
    """A plane in ten inputs with noise: neighbours know less of it than all rows together."""
    X = RNG.normal(size=(n, 10))
    return X, np.where(X.sum(axis=1) + RNG.normal(size=n) > 0, "up", "down")


@pytest.fixture(autouse=True, scope="module")
def contests_of_few_rows():
    with small_contests(900):
        yield


@pytest.fixture(scope="module")
def among_heaps(contests_of_few_rows):
    return GPClassifier(random_state=0).fit(*heaps())


@pytest.mark.slow
def test_neighbours_win_where_structure_is_fine(among_heaps):
    clf = among_heaps
    assert clf.method_ == "local"
    assert clf.contest_["local"] < clf.contest_["sparse_kl"]
    assert len(clf.posterior_.points) == N  # the judges joined the store
    X, y = heaps(1000)
    assert clf.score(X, y) > 0.9
    assert clf.get_params()["method"] == "auto"


@pytest.mark.slow
def test_inducing_points_win_where_it_is_smooth(monkeypatch):
    # what an average of both would gain on 120 rows is noise
    monkeypatch.setattr(combination, "WORTHWHILE", np.inf)
    starts, informed = [], []
    begin, inform = start.starting_kernel, contest.Contest._informed

    def begun(job, *rest):
        starts.append(job.learned_kernel)
        return begin(job, *rest)

    def with_judges(self, model):
        informed.extend([model, inform(self, model)])
        return informed[-1]

    monkeypatch.setattr(start, "starting_kernel", begun)
    monkeypatch.setattr(contest.Contest, "_informed", with_judges)
    X, y = plane()
    clf = GPClassifier(random_state=0).fit(X, y)
    assert clf.method_ == "sparse_kl"
    assert clf.contest_["sparse_kl"] < clf.contest_["local"]
    assert clf.evidence_is_bound_
    assert starts[0] is not None  # what the local method has learned
    before, after = informed
    # 120 rows more, each with a log probability below zero, at the same kernel and points
    assert after.evidence < before.evidence - 20
    np.testing.assert_array_equal(after.posterior.points, before.posterior.points)
    assert after.iterations == before.iterations == clf.n_iter_


@pytest.mark.slow
def test_the_winner_can_be_kept(among_heaps, tmp_path):
    among_heaps.save(tmp_path / "model")
    X, _ = heaps(50)
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), among_heaps.predict_proba(X))
    assert again.contest_ == among_heaps.contest_
    assert again.contest_gain_ == among_heaps.contest_gain_
    assert again.stored_rows_ == among_heaps.stored_rows_ == N


@pytest.mark.slow
def test_a_win_has_an_interval(among_heaps):
    gain, nlp = among_heaps.contest_gain_, among_heaps.contest_
    assert gain["nlp"] == pytest.approx(nlp["sparse_kl"] - nlp["local"], rel=1e-12)
    low, high = gain["interval"]
    assert 0 < low < gain["nlp"] < high  # far ahead
    assert gain["rows"] == pytest.approx(N / 10, abs=2)


def plane_and_heaps(n=N):
    """A slope that all rows know together, and heaps of a colour that only neighbours know."""
    X, colour = heaps(n)
    slope = RNG.normal(size=(n, 3))
    score = slope.sum(axis=1) + 2.5 * (colour == "white") - 1.25
    X = np.column_stack([X, slope])
    return X, np.where(score + 0.5 * RNG.normal(size=n) > 0, "up", "down")


@pytest.fixture(scope="module")
def of_both(contests_of_few_rows, module_patch):
    # that a combination gains this much is a matter of the data; what it does then is tested here
    module_patch.setattr(combination, "WORTHWHILE", -1.0)
    return GPClassifier(random_state=0, tol=1e-2).fit(*plane_and_heaps())


@pytest.fixture(scope="module")
def module_patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.mark.slow
def test_both_may_stay(of_both, tmp_path):
    clf = of_both
    assert clf.method_ == "combined"
    assert set(clf.combination_) == {"local", "sparse_kl"}
    assert sum(clf.combination_.values()) == pytest.approx(1.0)
    scores = clf.contest_
    assert scores["combined"] <= min(scores["local"], scores["sparse_kl"])
    assert clf.stored_rows_ == N
    assert not hasattr(clf, "inducing_points_")
    X, y = plane_and_heaps(300)
    P = clf.predict_proba(X)
    members = clf._fitted.members()
    alone = [copy(clf)._all_or_nothing(lambda _, m=member: m) for member in members]
    decisions = [one.predict_latent(X)[0] for one in alone]
    mean, _ = clf.predict_latent(X)
    weights = list(clf.combination_.values())
    np.testing.assert_allclose(mean, np.dot(weights, decisions), rtol=1e-10, atol=1e-12)
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), P)
    assert again.combination_ == clf.combination_
    assert again.contest_ == clf.contest_
    assert again.stored_rows_ == N
    with pytest.raises(ValueError, match="looks up neighbours"):
        clf.to_onnx(tmp_path / "model.onnx")
    again.partial_fit(X, y)
    assert again.method_ == "combined"
    assert again.stored_rows_ == N + 300
    assert again.score(X, y) >= clf.score(X, y) - 0.02


def test_a_callback_that_stops_ends_the_contest():
    X, y = heaps()
    clf = GPClassifier(random_state=0, callback=lambda progress: True).fit(X, y)
    assert clf.method_ == "local"
    assert list(clf.contest_) == ["local"]
    assert clf.contest_gain_ is None  # nobody to compare with


@pytest.fixture
def ticking_clock(monkeypatch):
    """A clock that moves on whenever it is read: how quick the machine is does not matter."""
    readings = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0625 * next(readings))


@pytest.mark.slow
@pytest.mark.computes
def test_a_short_time_is_shared_and_a_run_can_be_taken_up(ticking_clock, monkeypatch, tmp_path):
    """Neither may use up what is meant for both; each keeps itself in a folder of its own."""
    monkeypatch.setattr(contest, "_ENOUGH_STEPS", 20)
    # only what learns by minibatches has checkpoints
    monkeypatch.setattr(plan, "MOST_ROWS_FULL_BATCH", 5_000)
    X, y = plane(5_500)
    options = {"random_state": 0, "max_time": 30, "checkpoint": tmp_path}
    clf = GPClassifier(**options).fit(X, y)
    assert clf.contest_["sparse_kl"] < 0.6  # it has learned something
    assert sorted(path.name for path in tmp_path.iterdir()) == ["local", "sparse_kl"]
    again = GPClassifier(**options, resume=True).fit(X, y)
    assert again.contest_ == pytest.approx(clf.contest_, rel=0.05)


def test_names_of_columns_survive():
    pandas = pytest.importorskip("pandas")
    X, y = heaps()
    frame = pandas.DataFrame(X, columns=["east", "north", "up"])
    clf = GPClassifier(random_state=0, callback=lambda progress: True).fit(frame, y)
    assert list(clf.feature_names_in_) == ["east", "north", "up"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(frame[:5])


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "sparse_kl"},
        {"n_inducing": 20},
        {"optimizer": "lbfgs"},
        {"batch_size": 100},
        {"validation_fraction": 0.1},
        {"checkpoint": "folder"},
        {"warm_start": True},
        {"n_neighbors": 10},
        {"max_iter": 5},
    ],
)
def test_who_asks_for_one_gets_that_one(asked):
    assert competes(GPClassifier()._settings(), N)
    assert not competes(GPClassifier(**asked)._settings(), N)
    assert not competes(GPClassifier()._settings(), plan.FEWEST_ROWS_TO_COMPETE)


def test_a_number_of_neighbours_asks_for_neighbours():
    X, y = heaps(400)
    clf = GPClassifier(n_neighbors=10, max_iter=3, random_state=0).fit(X, y)
    assert clf.method_ == "local"


def test_judges_leave_rows_of_both_classes():
    codes = np.zeros(3000, int)
    codes[[5, 70]] = 1
    judges = held_out(codes, 0)
    assert len(judges) == 299
    assert not np.isin([5, 70], judges).any()
