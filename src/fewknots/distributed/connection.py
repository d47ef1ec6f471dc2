"""A cluster and its processes: clients, the versions that they run, their errors in words.

A client is for a scheduler's address, for a new local cluster, or the current one. All processes
must run the same versions of fewknots and JAX; a worker that joins later is checked too, by every
task that it runs (workers.py). Dask's errors are explained to a user who fits a model, with advice
how to continue.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from distributed import CancelledError, Client, KilledWorker, LocalCluster, get_client, get_worker

from ..exceptions import ClusterError
from ..extras import how_to_install
from ..version import __version__

_WORKER_THREADS = 1  # XLA has threads of its own
_SECONDS_TO_ANSWER = 5  # in which a scheduler must answer
Versions = dict[str, str]
# As text: Dask sends functions by name, and a process without fewknots could not find ours.
_QUESTION = "{name: __import__(name).__version__ for name in ('fewknots', 'jax')}"
_GONE = (CancelledError, FutureCancelledError, CommClosedError)


@contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """A client of the scheduler at `address`, or of `workers` new processes on this machine."""
    if (address is None) == (workers is None):
        raise ValueError(
            "give either the scheduler's address or the number of local workers, not both."
        )
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


def versions_here() -> Versions:
    """Versions in this process."""
    return {"fewknots": __version__, "jax": jax.__version__}


def check_here(expected: Versions) -> None:
    """Raise an error if this worker's versions differ from the client's."""
    for name, version in versions_here().items():
        if version != expected[name]:
            who = f"worker {get_worker().address}"
            raise ClusterError(_mismatch(who, name, version, expected[name]))


def check_workers(client: Client) -> Versions:
    """Check all present workers, and the scheduler, which deserialises every task."""
    expected = versions_here()
    answers = client.run(eval, _QUESTION, on_error="return")
    found = {f"worker {address}": answer for address, answer in answers.items()}
    try:
        found["the scheduler"] = client.run_on_scheduler(eval, _QUESTION)
    except ImportError as error:
        found["the scheduler"] = error
    for who, answer in found.items():
        if isinstance(answer, BaseException):
            raise ClusterError(
                f"{who} cannot import fewknots ({answer}). Install the client's version, "
                f"{expected['fewknots']}, in its environment: {how_to_install('dask')}."
            ) from answer
        for name, version in answer.items():
            if version != expected[name]:
                raise ClusterError(_mismatch(who, name, version, expected[name]))
    return expected


def _mismatch(who: str, name: str, version: str, expected: str) -> str:
    command = f"pip install '{name}=={expected}'"
    if name == "fewknots":
        command = f"{how_to_install('dask')}, at version {expected}"
    return (
        f"{who} runs {name} {version}, the client {name} {expected}. Install the same version "
        f"everywhere: {command}."
    )


@contextmanager
def translate_errors(client: Client, when: str, checkpoint: Any) -> Iterator[None]:
    """Within the block a cluster error becomes a ClusterError: when, what, and what to do now."""
    try:
        yield
    except _GONE as error:
        raise ClusterError(f"{when}: {_lost(client, error)}{_how_to_go_on(checkpoint)}") from error
    except TimeoutError as error:
        if client.status == "running":  # not Dask's error, but for example of the file storage
            raise
        raise ClusterError(f"{when}: {_lost(client, error)}{_how_to_go_on(checkpoint)}") from error
    except KilledWorker as error:
        raise ClusterError(
            f"{when}: the same partitions killed several workers in a row ({error}). Most likely "
            "these had too little memory: use smaller partitions or workers with more. A worker "
            "without fewknots that joined late dies in the same way; the workers' logs show it."
            f"{_how_to_go_on(checkpoint)}"
        ) from error
    except ClusterError as error:
        raise ClusterError(f"{when}: {error}{_how_to_go_on(checkpoint)}") from error


def _lost(client: Client, error: BaseException) -> str:
    address = client.scheduler.addr if client.scheduler else "?"
    return f"the scheduler at {address} went away ({type(error).__name__})."


def _how_to_go_on(checkpoint: Any) -> str:
    if checkpoint is None:
        return (
            " Fit again on this cluster or on a new one; with checkpoint='folder' a fit can be "
            "resumed where it stopped."
        )
    return (
        f" What was learned is kept in {str(checkpoint)!r}: fit again with resume=True, on this "
        "cluster or on a new one."
    )
