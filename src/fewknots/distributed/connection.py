"""Dask clients: for a scheduler's address, for a new local cluster, or the current client."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster, get_client

from ..exceptions import ClusterError

_WORKER_THREADS = 1  # XLA has threads of its own
_SECONDS_TO_ANSWER = 5  # in which a scheduler must answer


@contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """A client of the scheduler at `address`, or of `workers` new processes on this machine."""
    if (address is None) == (workers is None):
        raise ValueError("say either the scheduler's address or how many local workers, not both.")
    if address is not None:
        try:
            client = Client(address, timeout=_SECONDS_TO_ANSWER)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address} ({error}). Is it running, and is the "
                "address the one it printed, such as tcp://host:8786?"
            ) from error
        with client:
            yield client
        return
    _forget_lost_clients()
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=_WORKER_THREADS, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def current_client() -> Iterator[Client]:
    """The current client; if there is none, a temporary cluster of threads in this process."""
    try:
        client = get_client(timeout=1)
    except ValueError:  # there is none
        _forget_lost_clients()
        with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
            yield client
        return
    yield client


def _forget_lost_clients() -> None:
    """Delete clients that could not connect before a new cluster starts.

    Python's garbage collector closes such a client. If this happens while a cluster starts, both
    need the same lock of Dask, and the process waits forever.
    """
    gc.collect()
