"""What can go wrong on a cluster, done to real processes."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import dask
import numpy as np
import pytest

import fewknots
from distributed import Client
from fewknots import GPClassifier
from fewknots.exceptions import ClusterError, DataError

from .conftest import SETTINGS, cut, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit had not converged"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def two_workers(cluster):
    with cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def undisturbed(two_workers):
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


def test_a_worker_that_stands_still_does_not_stall_a_round(two_workers, undisturbed):
    two_workers.wait_for_workers(2, timeout=60)
    stopped = []

    def stop():
        stopped.append(some_worker(two_workers))
        os.kill(stopped[0], signal.SIGSTOP)

    impatient = {"fewknots.straggler-seconds": 2.0, "fewknots.straggler-times": 3.0}
    try:
        with dask.config.set(impatient):
            clf = GPClassifier(**SETTINGS, callback=at_iteration(3, stop))
            fitted = clf.fit(*cut(*rows(), 4))
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)
    assert stopped
    assert_same(fitted, undisturbed)


def test_a_partition_with_bad_rows_names_itself(two_workers):
    X, y = rows()
    X[450 + 7, 1] = np.nan
    with pytest.raises(DataError, match="partition 2, row 7: column 1 has no value"):
        GPClassifier(**SETTINGS).fit(*cut(X, y, 4))


def test_a_third_label_is_found_where_it_is(two_workers):
    X, y = rows()
    y = y.astype(object)
    y[450 + 9] = "never"
    with pytest.raises(DataError, match="partition 2, row 9: y is 'never'"):
        GPClassifier(**SETTINGS).fit(*cut(X, y, 4))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def process(module, *arguments, env):
    started = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def cluster_of_processes(env, worker_env):
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    with (
        process(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--dashboard-address",
            "127.0.0.1:0",
            env=env,
        ) as scheduler,
        process("dask_worker", address, "--nthreads", "1", "--no-nanny", env=worker_env),
        Client(address, timeout="30s") as client,
    ):
        client.wait_for_workers(1, timeout=60)
        yield scheduler


def test_a_lost_scheduler_keeps_the_checkpoint_and_a_new_cluster_goes_on(
    compiled, two_workers, undisturbed, tmp_path
):
    settings = SETTINGS | {"checkpoint": tmp_path}
    with cluster_of_processes(compiled, compiled) as scheduler:
        clf = GPClassifier(**settings, callback=at_iteration(5, scheduler.kill))
        with pytest.raises(ClusterError, match=r"went away in round \d+.*resume=True"):
            clf.fit(*cut(*rows(), 3))
    assert list(tmp_path.glob("step-*.checkpoint"))
    two_workers.wait_for_workers(1, timeout=60)
    with two_workers.as_current():
        resumed = GPClassifier(**settings, resume=True).fit(*cut(*rows(), 4))
    assert resumed.n_iter_ == undisturbed.n_iter_
    assert resumed.log_evidence_ == pytest.approx(undisturbed.log_evidence_, rel=1e-8)
    bounds = resumed.history_["bound"]
    np.testing.assert_allclose(bounds, undisturbed.history_["bound"], rtol=1e-8)


def test_workers_of_another_version_are_refused(compiled, tmp_path):
    package = os.path.dirname(fewknots.__file__)
    other = tmp_path / "fewknots"
    shutil.copytree(package, other, ignore=shutil.ignore_patterns("__pycache__"))
    init = other / "__init__.py"
    init.write_text(init.read_text() + '\n__version__ = "0.0.1"\n')
    with (
        cluster_of_processes(compiled, compiled | {"PYTHONPATH": str(tmp_path)}),
        pytest.raises(ClusterError, match=r"runs fewknots 0\.0\.1, the client fewknots"),
    ):
        GPClassifier(**SETTINGS).fit(*cut(*rows(), 2))
