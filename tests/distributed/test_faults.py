"""What can go wrong on a cluster, done to real processes."""

import os
import signal
import threading
from contextlib import suppress

import dask
import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.distributed.stragglers import WorkerState, others_are_quicker, slow_workers
from fewknots.exceptions import ClusterError, ClusterWarning, DataError

from ..waiting import HANGS, wait_until
from .conftest import SETTINGS, cut, rows
from .processes import cluster_of_processes

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit had not converged"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
IMPATIENT = {"fewknots.straggler-seconds": 2.0, "fewknots.straggler-times": 3.0}
OTHER_WORDS = "ignore::fewknots.exceptions.ClusterWarning"  # than those that are waited for


@pytest.fixture
def two_workers(cluster):
    """Fresh for each test: what one does to its workers is nothing to the next."""
    with cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def undisturbed(cluster):
    with cluster(2):
        return GPClassifier(**SETTINGS).fit(*cut(*rows(), 4))


def some_worker(client):
    return next(iter(client.run(os.getpid).values()))


def at_iteration(number, act):
    return lambda now: act() if now.iteration == number else None


def assert_same(fitted, other):
    X, _ = rows()
    assert fitted.log_evidence_ == other.log_evidence_
    np.testing.assert_array_equal(fitted.predict_proba(X), other.predict_proba(X))


def test_a_killed_worker_is_replaced_and_nothing_changes(two_workers, undisturbed):
    killed = []

    def kill():
        killed.append(some_worker(two_workers))
        os.kill(killed[0], signal.SIGKILL)

    fitted = GPClassifier(**SETTINGS, callback=at_iteration(3, kill)).fit(*cut(*rows(), 4))
    assert killed
    assert killed[0] not in two_workers.run(os.getpid).values()
    assert_same(fitted, undisturbed)


@pytest.mark.filterwarnings(OTHER_WORDS)
def test_a_worker_that_stands_still_does_not_stall_a_round(two_workers, undisturbed):
    stopped = []

    def stop():
        stopped.append(some_worker(two_workers))
        os.kill(stopped[0], signal.SIGSTOP)

    try:
        clf = GPClassifier(**SETTINGS, callback=at_iteration(3, stop))
        with dask.config.set(IMPATIENT), pytest.warns(ClusterWarning, match="not been heard of"):
            fitted = clf.fit(*cut(*rows(), 4))
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    assert stopped
    assert_same(fitted, undisturbed)


def held_up(until):
    """Makes a worker wait for a file, once, before its sums; its process still answers."""

    def make_slow():
        import time

        from fewknots.distributed import workers

        quick, begun = workers.sums_at, []

        def slow(*question):
            begun.append(question)
            while len(begun) == 1 and not until.exists():
                time.sleep(0.05)
            return quick(*question)

        workers.sums_at = slow

    return make_slow


@pytest.mark.filterwarnings(OTHER_WORDS)
def test_a_worker_whose_task_hangs_does_not_stall_a_round(two_workers, undisturbed, tmp_path):
    address = next(iter(two_workers.scheduler_info()["workers"]))

    def hang():
        two_workers.run(held_up(tmp_path / "never"), workers=[address])

    removed = rf"worker {address} was removed: it has been at one task for \d+ s"
    clf = GPClassifier(**SETTINGS, callback=at_iteration(3, hang))
    with dask.config.set(IMPATIENT), pytest.warns(ClusterWarning, match=removed):
        fitted = clf.fit(*cut(*rows(), 4))
    assert_same(fitted, undisturbed)


@pytest.mark.filterwarnings(OTHER_WORDS)
def test_a_worker_that_hangs_while_loading_does_not_stall_the_fit(two_workers, undisturbed):
    address = next(iter(two_workers.scheduler_info()["workers"]))

    def hang_in_load():
        import time

        from fewknots.distributed import workers

        workers.check_features = lambda *_: time.sleep(3600)

    two_workers.run(hang_in_load, workers=[address])
    removed = rf"worker {address} was removed: it has been at one task for \d+ s"
    # ten times that while rows are loaded; afterwards many times what a round takes here
    impatient = {"fewknots.straggler-seconds": 0.6, "fewknots.straggler-times": 100.0}
    with dask.config.set(impatient), pytest.warns(ClusterWarning, match=removed):
        fitted = GPClassifier(**SETTINGS).fit(*cut(*rows(), 4))
    assert_same(fitted, undisturbed)


def test_nobody_is_struck_off_when_all_are_slow(two_workers, undisturbed, tmp_path):
    """But the user is told; and only then they go on."""
    before = two_workers.run(os.getpid)

    def let_go():
        wait_until(lambda: any("still waiting" in str(one.message) for one in told.list))
        (tmp_path / "go on").touch()

    def slow_down():
        two_workers.run(held_up(tmp_path / "go on"))
        release.start()

    release = threading.Thread(target=let_go)
    clf = GPClassifier(**SETTINGS, callback=at_iteration(3, slow_down))
    # who is heard of a little later than the other is not the quicker one
    patient = IMPATIENT | {"fewknots.straggler-seconds": 6.0}
    with dask.config.set(patient), pytest.warns(ClusterWarning, match="still waiting") as told:
        fitted = clf.fit(*cut(*rows(), 4))
    release.join()
    assert not [one for one in told if "was removed" in str(one.message)]
    assert two_workers.run(os.getpid) == before
    assert_same(fitted, undisturbed)


@pytest.mark.parametrize(
    ("states", "slow"),
    [
        ({"a": WorkerState(100.0, 90.0)}, set()),  # alone: who else could do it?
        (
            {"a": WorkerState(100.0, 61.0), "b": WorkerState(100.0, 59.0)},
            set(),
        ),  # one as slow as another
        ({"a": WorkerState(100.0, 61.0), "b": WorkerState(100.0, 0.0)}, {"a"}),
        # much to do, one task after the other
        ({"a": WorkerState(100.0, 20.0), "b": WorkerState(100.0, 0.0)}, set()),
        # b waits for a's data
        (
            {
                "a": WorkerState(80.0, 0.0),
                "b": WorkerState(100.0, 61.0),
                "c": WorkerState(99.0, 1.0),
            },
            {"a"},
        ),
        ({"a": WorkerState(98.0, 0.0), "b": WorkerState(100.0, 0.0)}, set()),
    ],
)
def test_who_is_slow(states, slow):
    found = slow_workers(states, 60.0)
    dropped = set(found) if others_are_quicker(states, found, 60.0) else set()
    assert dropped == slow


def test_a_partition_with_bad_rows_names_itself(two_workers):
    X, y = rows()
    X[450 + 7, 1] = np.nan
    with pytest.raises(DataError, match="partition 2, row 7: column 1 has no value"):
        GPClassifier(**SETTINGS).fit(*cut(X, y, 4))


def test_a_label_of_another_type_is_found_where_it_is(two_workers):
    X, y = rows()
    y = y.astype(object)
    y[450:675] = 7
    with pytest.raises(
        DataError, match=r"partition 2, row 0: y is 7, .* text and numbers are mixed"
    ):
        GPClassifier(**SETTINGS).fit(*cut(X, y, 4))


def test_a_lost_scheduler_keeps_the_checkpoint_and_a_new_cluster_goes_on(
    compiled, two_workers, undisturbed, tmp_path
):
    settings = SETTINGS | {"checkpoint": tmp_path}
    with cluster_of_processes(compiled) as (_, scheduler, _):
        clf = GPClassifier(**settings, callback=at_iteration(5, scheduler.kill))
        with pytest.raises(ClusterError, match=r"round \d+: .* went away.*resume=True"):
            clf.fit(*cut(*rows(), 3))
    assert list(tmp_path.glob("step-*.checkpoint"))
    two_workers.wait_for_workers(1, timeout=HANGS)
    with two_workers.as_current():
        resumed = GPClassifier(**settings, resume=True).fit(*cut(*rows(), 4))
    assert resumed.n_iter_ == undisturbed.n_iter_
    assert resumed.log_evidence_ == pytest.approx(undisturbed.log_evidence_, rel=1e-8)
    bounds = resumed.history_["bound"]
    np.testing.assert_allclose(bounds, undisturbed.history_["bound"], rtol=1e-8)


def test_partitions_that_kill_every_worker(two_workers):
    two_workers.run_on_scheduler(
        lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1)
    )
    X, y = cut(*rows(), 4)
    X = X.map_blocks(
        lambda block, block_id: os._exit(1) if block_id[0] == 2 else block, dtype=X.dtype
    )
    killed = "loading the rows: the same partitions killed several workers.*smaller partitions"
    with pytest.raises(ClusterError, match=killed):
        GPClassifier(**SETTINGS).fit(X, y)
