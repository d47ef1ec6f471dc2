"""Workers that hold up a round: who they are, and doing without them.

While a round is not done, or rows are being loaded, the scheduler is asked every second how its
workers stand. Once it has taken longer than it usually does, a worker is *slow* if it is

    silent: not heard of for a while, when others were; or else
    stuck: at one and the same task for longer than a whole round may take.

A slow worker is struck off: its nanny, if it has one, ends the process and starts another. For
Dask it is then a lost one, whose work is done elsewhere. (A task that was in the hands of several
lost workers ends the fit: errors.py.) A worker that merely has more to do than others gets one
task done after the other, is not slow, and is waited for.

Nor is anybody struck off when everybody is slow, or nearly so: then the work is hard, or the
machines are busy with something else, and to begin anew elsewhere would not help. But the user is
told, again each time the wait has doubled.
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

WAIT_FOR_WORKERS = 60.0  # seconds, where there are none
_LOOK = 1.0  # seconds between two looks
_PATIENCE = {"straggler-seconds": 60.0, "straggler-times": 10.0}
_PATIENCE_AT_FIRST = 10.0  # times that: programs are compiled, or rows loaded
_SILENCE = 5.0  # seconds without a word, when others were heard of
_WORKERS_HEARD_A_SECOND = 50  # many workers report less often than few: at worst so many
_SECONDS_TO_END = 10.0  # for a worker's process; after that it is just forgotten
_NEARLY = 0.5  # of the time after which one is slow


class WorkerState(NamedTuple):
    """How a worker stands."""

    heard: float  # when, by the scheduler's clock
    busy: float  # seconds it has been at one of the round's tasks


def seconds_to_wait_for_workers() -> float:
    """How long a cluster may be without any."""
    return float(dask.config.get("fewknots.wait", WAIT_FOR_WORKERS))


def patience_after(usual: Sequence[float]) -> float:
    """Seconds after which something is no longer merely slow, when that is what it took of late."""
    least, times = (
        float(dask.config.get(f"fewknots.{name}", default)) for name, default in _PATIENCE.items()
    )
    if not usual:
        return _PATIENCE_AT_FIRST * least
    return max(least, times * float(np.median(usual)))


class Watch:
    """An eye on one round, or on the loading of rows, from the moment it is begun."""

    def __init__(self, client: Client, what: str, keys: Iterable[Any], patience: float):
        self.client, self.what = client, what
        self.keys, self.patience = {str(key) for key in keys}, patience
        self.began = time.perf_counter()
        self._next_word = 2.0 * patience
        self._without_workers: float | None = None  # since when

    @property
    def seconds(self) -> float:
        """Since the round began."""
        return time.perf_counter() - self.began

    def until_done(self, futures: Sequence[Future]) -> None:
        """Wait for all, or for an error in one, and look after the workers meanwhile."""
        while not self._are_done(futures):
            raise_if_interrupted()
            if self.client.status != "running":
                raise CommClosedError("no connection")
            self.look()

    def _are_done(self, futures: Sequence[Future]) -> bool:
        with suppress(TimeoutError):
            wait(futures, timeout=_LOOK)
        statuses = {future.status for future in futures}
        return "pending" not in statuses or "error" in statuses

    def look(self) -> None:
        """Strike off whoever is slow; an error if nobody is left to work."""
        states = self._worker_states()
        self._check_not_deserted(states)
        if not states or self.seconds < self.patience:
            return
        slow = slow_workers(states, self.patience)
        if slow and others_are_quicker(states, slow, self.patience):
            self._strike_off(slow)
        elif slow or self.seconds > self._next_word:
            self._say_that_it_takes_long(len(states))
        if slow:
            self.patience *= 2.0

    def _worker_states(self) -> dict[str, WorkerState]:
        try:
            return self.client.run_on_scheduler(_look_around, keys=self.keys)
        except OSError as error:
            raise CommClosedError(str(error)) from error

    def _check_not_deserted(self, states: dict[str, WorkerState]) -> None:
        if states:
            self._without_workers = None
            return
        if self._without_workers is None:
            self._without_workers = self.seconds
        gone = self.seconds - self._without_workers
        if gone > seconds_to_wait_for_workers():
            raise ClusterError(
                f"the cluster has had no workers for {gone:.0f} s; their logs say why they went. "
                "Start some, for instance: dask worker ADDRESS."
            )

    def _strike_off(self, slow: dict[str, str]) -> None:
        self.client.run_on_scheduler(_replace, addresses=sorted(slow))
        for address, why in sorted(slow.items()):
            warn(
                f"worker {address} was struck off: it {why}. Its rows are loaded again by others.",
                ClusterWarning,
            )

    def _say_that_it_takes_long(self, n_workers: int) -> None:
        self._next_word = 2.0 * self.seconds
        warn(
            f"{self.what} has taken {self.seconds:.0f} s so far, more than it usually does, and "
            f"none of the {n_workers} workers is slower than the others: still waiting. See what "
            f"they do on the dashboard, {self.client.dashboard_link}.",
            ClusterWarning,
        )


def slow_workers(states: dict[str, WorkerState], patience: float) -> dict[str, str]:
    """Those who keep others waiting, and why they are thought to."""
    newest = max(state.heard for state in states.values())
    silence = _SILENCE + len(states) / _WORKERS_HEARD_A_SECOND
    silent = {
        address: f"has not been heard of for {newest - state.heard:.0f} s"
        for address, state in states.items()
        if newest - state.heard > silence
    }
    # Who waits for data from one that is silent is at a task, too, and not to blame.
    return silent or {
        address: f"has been at one task for {state.busy:.0f} s"
        for address, state in states.items()
        if state.busy > patience
    }


def others_are_quicker(
    states: dict[str, WorkerState], slow: Collection[str], patience: float
) -> bool:
    """Whether anybody could do the work of the slow ones."""
    return any(
        address not in slow and state.busy < _NEARLY * patience for address, state in states.items()
    )


def _look_around(keys: set[str], dask_scheduler: Any = None) -> dict[str, WorkerState]:
    """On the scheduler: how each worker stands, by what it said last."""
    found = {}
    for address, worker in dask_scheduler.workers.items():
        at_work = [
            seconds
            for task, seconds in worker.executing.items()
            if task in worker.processing and str(task.key) in keys
        ]
        found[address] = WorkerState(worker.last_seen, max(at_work, default=0.0))
    return found


async def _replace(addresses: list[str], dask_scheduler: Any = None) -> None:
    """On the scheduler: end these workers, and let their nannies start others."""
    await dask_scheduler.restart_workers(
        addresses,
        timeout=_SECONDS_TO_END,
        wait_for_workers=False,
        on_error="return",
        stimulus_id=f"fewknots-slow-{time.time()}",
    )
