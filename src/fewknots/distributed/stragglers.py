"""Workers that delay a round: how they are found, and how they are replaced.

During a round, and while rows are loaded, we ask the scheduler every second for the state of its
workers. After the round has taken longer than usual, a worker is *slow* if it is

    silent: it has sent no heartbeat for a while, but others have; or
    stuck: it has been at the same task for longer than a whole round may take.

A slow worker is removed: its nanny, if it has one, ends the process and starts another one. For
Dask this is a lost worker, and others do its work. (A task that was lost with several workers ends
the fit: connection.py.) A worker that only has more tasks than others finishes one after the other:
it is not slow, and we wait for it.

No worker is removed if all are slow, or nearly so: then the work is hard or the machines are busy
with something else, and a restart elsewhere would not help. The user gets a warning, and another
one each time the waiting time has doubled.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed.comm import CommClosedError

from distributed import Client, Future, wait

from ..exceptions import ClusterError, ClusterWarning, warn
from ..stopping import raise_if_interrupted

WAIT_FOR_WORKERS = 60.0  # seconds that a cluster may be without any worker
_CHECK_INTERVAL = 1.0  # seconds between two checks
_PATIENCE = {"straggler-seconds": 60.0, "straggler-times": 10.0}
_PATIENCE_AT_FIRST = 10.0  # factor for first rounds, which compile, and for loading rows
_SILENCE = 5.0  # seconds without a heartbeat while others send theirs
_HEARTBEATS_PER_SECOND = 50  # of all workers; Dask lowers their rate on large clusters
_SECONDS_TO_END = 10.0  # in which a worker's process must end; then it is ignored
_NEARLY = 0.5  # share of the patience from which a worker counts as nearly slow


class WorkerState(NamedTuple):
    """The state of a worker."""

    heard: float  # time of its last heartbeat, by the scheduler's clock
    busy: float  # seconds it has spent on its current task of this round


def seconds_to_wait_for_workers() -> float:
    """How long a cluster may be without any worker."""
    return float(dask.config.get("fewknots.wait", WAIT_FOR_WORKERS))


def patience_after(usual: Sequence[float]) -> float:
    """Seconds after which a round takes too long; `usual` are the durations of recent rounds."""
    least, times = (
        float(dask.config.get(f"fewknots.{name}", default)) for name, default in _PATIENCE.items()
    )
    if not usual:
        return _PATIENCE_AT_FIRST * least
    return max(least, times * float(np.median(usual)))


class Watch:
    """Watches one round, or the loading of rows, from its start."""

    def __init__(self, client: Client, what: str, keys: Iterable[Any], patience: float):
        self.client, self.what = client, what
        self.keys, self.patience = {str(key) for key in keys}, patience
        self.began = time.perf_counter()
        self._next_warning = 2.0 * patience
        self._without_workers: float | None = None  # since when there are none

    @property
    def seconds(self) -> float:
        """Time since the round began."""
        return time.perf_counter() - self.began

    def until_done(self, futures: Sequence[Future]) -> None:
        """Wait for all futures, or for an error in one, and check the workers meanwhile."""
        while not self._are_done(futures):
            raise_if_interrupted()
            if self.client.status != "running":
                raise CommClosedError("no connection")
            self.look()

    def _are_done(self, futures: Sequence[Future]) -> bool:
        with suppress(TimeoutError):
            wait(futures, timeout=_CHECK_INTERVAL)
        statuses = {future.status for future in futures}
        return "pending" not in statuses or "error" in statuses

    def look(self) -> None:
        """Remove slow workers; raise an error if there are no workers for too long."""
        states = self._worker_states()
        self._check_any_workers(states)
        if not states or self.seconds < self.patience:
            return
        slow = slow_workers(states, self.patience)
        if slow and others_are_quicker(states, slow, self.patience):
            self._remove(slow)
        elif slow or self.seconds > self._next_warning:
            self._warn_of_long_wait(len(states))
        if slow:
            self.patience *= 2.0

    def _worker_states(self) -> dict[str, WorkerState]:
        try:
            return self.client.run_on_scheduler(_states_on_scheduler, keys=self.keys)
        except OSError as error:
            raise CommClosedError(str(error)) from error

    def _check_any_workers(self, states: dict[str, WorkerState]) -> None:
        if states:
            self._without_workers = None
            return
        if self._without_workers is None:
            self._without_workers = self.seconds
        gone = self.seconds - self._without_workers
        if gone > seconds_to_wait_for_workers():
            raise ClusterError(
                f"the cluster has had no workers for {gone:.0f} s; their logs say why. "
                "Start some, for instance: dask worker ADDRESS."
            )

    def _remove(self, slow: dict[str, str]) -> None:
        self.client.run_on_scheduler(_replace, addresses=sorted(slow))
        for address, why in sorted(slow.items()):
            warn(
                f"worker {address} was removed: it {why}. Its rows are loaded again by others.",
                ClusterWarning,
            )

    def _warn_of_long_wait(self, n_workers: int) -> None:
        self._next_warning = 2.0 * self.seconds
        warn(
            f"{self.what} has taken {self.seconds:.0f} s so far, more than it usually does, and "
            f"none of the {n_workers} workers is slower than the others: still waiting. See what "
            f"they do on the dashboard, {self.client.dashboard_link}.",
            ClusterWarning,
        )


def slow_workers(states: dict[str, WorkerState], patience: float) -> dict[str, str]:
    """The addresses of slow workers, and the reason for each."""
    newest = max(state.heard for state in states.values())
    silence = _SILENCE + len(states) / _HEARTBEATS_PER_SECOND
    silent = {
        address: f"has not been heard of for {newest - state.heard:.0f} s"
        for address, state in states.items()
        if newest - state.heard > silence
    }
    # A worker that waits for data from a silent one is busy too, but it is not the cause.
    return silent or {
        address: f"has been at one task for {state.busy:.0f} s"
        for address, state in states.items()
        if state.busy > patience
    }


def others_are_quicker(
    states: dict[str, WorkerState], slow: Collection[str], patience: float
) -> bool:
    """Whether there is a worker that is clearly quicker than the slow ones."""
    return any(
        address not in slow and state.busy < _NEARLY * patience for address, state in states.items()
    )


def _states_on_scheduler(keys: set[str], dask_scheduler: Any = None) -> dict[str, WorkerState]:
    """Runs on the scheduler: the state of each worker at its last heartbeat."""
    found = {}
    for address, worker in dask_scheduler.workers.items():
        busy = [
            seconds
            for task, seconds in worker.executing.items()
            if task in worker.processing and str(task.key) in keys
        ]
        found[address] = WorkerState(worker.last_seen, max(busy, default=0.0))
    return found


async def _replace(addresses: list[str], dask_scheduler: Any = None) -> None:
    """Runs on the scheduler: ends these workers, and lets their nannies start others."""
    await dask_scheduler.restart_workers(
        addresses,
        timeout=_SECONDS_TO_END,
        wait_for_workers=False,
        on_error="return",
        stimulus_id=f"fewknots-slow-{time.time()}",
    )
