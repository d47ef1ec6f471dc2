"""Workers that cannot take part: refused before the first round, or when they join later."""

from contextlib import ExitStack

import dask
import pytest

from distributed import Client
from fewknots import GPClassifier
from fewknots.exceptions import ClusterError

from ..waiting import HANGS, wait_until
from . import processes
from .conftest import SETTINGS, cut, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit had not converged"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
NONE_HERE = r"cannot import fewknots \(No module named 'fewknots'\)"
OTHER_HERE = r"worker tcp://\S+ runs fewknots 0\.0\.1, the client fewknots"


@pytest.fixture(scope="module")
def other_version(compiled, tmp_path_factory):
    return processes.with_other_version(compiled, tmp_path_factory.mktemp("other"))


@pytest.fixture(scope="module")
def no_fewknots(compiled, tmp_path_factory):
    return processes.without_fewknots(compiled, tmp_path_factory.mktemp("none"))


def fit(**settings):
    return GPClassifier(**SETTINGS | settings).fit(*cut(*rows(), 2))


def test_workers_that_differ_are_refused(compiled, other_version, no_fewknots):
    none_there = rf"worker \S+ {NONE_HERE}"
    with processes.cluster_of_processes(compiled) as (client, _, _):
        for env, message in ((other_version, OTHER_HERE), (no_fewknots, none_there)):
            with processes.worker(client.scheduler.address, env):
                client.wait_for_workers(2, timeout=HANGS)
                with pytest.raises(ClusterError, match=message):
                    fit()
            wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 1)


def test_a_scheduler_without_fewknots_is_refused(compiled, no_fewknots):
    with (
        processes.scheduler(no_fewknots) as (_, address),
        processes.worker(address, compiled),
        Client(address, timeout=HANGS),
        pytest.raises(ClusterError, match=rf"the scheduler {NONE_HERE}.*pip install"),
    ):
        fit()


# a worker without fewknots dies of the first task that it cannot read
@pytest.mark.parametrize(
    ("kind", "message"),
    [("other_version", OTHER_HERE), ("no_fewknots", "no workers for .* their logs say why")],
)
def test_a_worker_that_joins_in_the_middle_is_refused(compiled, kind, message, request, tmp_path):
    env = request.getfixturevalue(kind)
    with (
        dask.config.set({"fewknots.wait": 2.0}),
        processes.cluster_of_processes(compiled) as (client, _, first),
        ExitStack() as later,
    ):

        def replace_the_worker(now):
            if now.iteration == 3:
                later.enter_context(processes.worker(client.scheduler.address, env))
                client.wait_for_workers(2, timeout=HANGS)
                first.kill()

        with pytest.raises(ClusterError, match=rf"round \d+: .*{message}.*resume=True"):
            fit(callback=replace_the_worker, checkpoint=tmp_path)
    assert list(tmp_path.glob("step-*.checkpoint"))
