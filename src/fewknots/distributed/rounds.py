"""One round on a cluster: parameters out, a tree of sums back.

    question ──► share 0 ─┐
             ──► share 1 ─┼─► sum ─┐
             ──► ...      ─┘        ├─► sum ──► the client
             ──► share 8 ───► sum ─┘

Shares are formed once, and the tree follows from their numbers alone. So a sum is the same to the
last bit whoever computed its parts: a worker that was lost and replaced changes nothing.

**Lost workers** are Dask's business: it knows how each result was made and makes it again.
**Slow workers** are made lost ones. Who has not answered long after a round usually ends is struck
off the scheduler's list, as Dask itself does after minutes of silence; if it comes to life again,
it joins as a new worker.
**A lost scheduler** ends the fit with an error that says how to go on.
"""

import time
from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from distributed import CancelledError, Client, Future, KilledWorker, wait

from ..exceptions import ClusterError
from ..training.held_rows import Found, Point, Subset
from . import workers
from .versions import Versions

FAN_IN = 8  # sums added up by one task
_SILENCE = 5.0  # seconds without a word, when others were heard of
_LOOK = 1.0  # seconds between two looks at a round that is not done
_PATIENCE = {"straggler-seconds": 60.0, "straggler-times": 10.0}


class ClusterSums:
    """The rows of a fit, spread over a cluster (a `Summation`)."""

    def __init__(
        self,
        client: Client,
        held: Sequence[Future],
        total_weight: float,
        device: str,
        versions: Versions,
        checkpoint: Any = None,
    ):
        self.client, self.held = client, list(held)
        self.total_weight = total_weight
        self.device, self.versions, self.checkpoint = device, versions, checkpoint
        self.rounds = 0
        self.dropped: list[str] = []  # workers that were too slow
        self._usual: list[float] = []

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        self.rounds += 1
        question = workers.Question(point, subset, self.device, self.versions)
        try:
            return self._round(question)
        except (CancelledError, FutureCancelledError, CommClosedError, TimeoutError) as error:
            raise self._lost(error) from error
        except KilledWorker as error:
            raise ClusterError(
                f"round {self.rounds}: the same share killed several workers in a row, most likely "
                f"for want of memory ({error}). Use smaller partitions or workers with more memory."
                f"{self._how_to_go_on()}"
            ) from error

    def _round(self, question: workers.Question) -> Found:
        began, patience = time.perf_counter(), self._patience()
        asked = self.client.submit(workers.as_is, question, pure=False)
        answers = [
            self.client.submit(workers.answer, share, asked, pure=False) for share in self.held
        ]
        root = self._tree(answers)
        while not self._is_done(root):
            if self.client.status != "running":
                raise self._lost(None)
            if time.perf_counter() - began > patience and self._drop_slow([asked, *answers, root]):
                patience *= 2.0
        found = root.result()
        self._usual = [*self._usual[-9:], time.perf_counter() - began]
        return found

    def _tree(self, level: Sequence[Future]) -> Future:
        """Add up neighbours, eight at a time, until one is left."""
        while len(level) > 1:
            level = [
                self.client.submit(workers.add_up, list(level[i : i + FAN_IN]), pure=False)
                for i in range(0, len(level), FAN_IN)
            ]
        return level[0]

    def _is_done(self, root: Future) -> bool:
        try:
            wait(root, timeout=_LOOK)
        except TimeoutError:
            return False
        return root.done()

    # --- slow workers -------------------------------------------------------------------------

    def _patience(self) -> float:
        """Seconds after which a round is no longer merely a slow one."""
        least, times = (
            float(dask.config.get(f"fewknots.{name}", default))
            for name, default in _PATIENCE.items()
        )
        usual = float(np.median(self._usual)) if self._usual else 0.0
        # the first round compiles, and waits for the rows to be loaded
        return max(least, times * usual) * (1.0 if self._usual else 10.0)

    def _drop_slow(self, futures: Sequence[Future]) -> bool:
        """Let the cluster do without whoever is slow; False if that is nobody, or everybody."""
        everyone = self.client.scheduler_info(n_workers=-1)["workers"]
        # Those who wait for one that is silent have work in hand, too.
        slow = _silent(everyone) or self._at_work([f for f in futures if not f.done()])
        if not slow or slow == set(everyone):
            return False
        self.client.run_on_scheduler(_strike_off, addresses=sorted(slow))
        self.dropped += sorted(slow)
        return True

    def _at_work(self, futures: Sequence[Future]) -> set[str]:
        """Workers that have one of these tasks in hand."""
        wanted = {str(future.key) for future in futures}
        in_hand = self.client.processing()
        return {worker for worker, keys in in_hand.items() if wanted & set(map(str, keys))}

    # --- a scheduler that is gone -------------------------------------------------------------

    def _lost(self, error: BaseException | None) -> ClusterError:
        why = f" ({type(error).__name__})" if error is not None else ""
        return ClusterError(
            f"the scheduler at {self.client.scheduler.addr if self.client.scheduler else '?'} went "
            f"away in round {self.rounds}{why}.{self._how_to_go_on()}"
        )

    def _how_to_go_on(self) -> str:
        if self.checkpoint is None:
            return (
                " Start a cluster and fit again; with checkpoint='folder' a fit can be taken up "
                "where it stood."
            )
        return (
            f" What was learned is kept in {str(self.checkpoint)!r}: connect to a new cluster and "
            "fit again with resume=True."
        )


def _silent(everyone: dict[str, Any]) -> set[str]:
    """Workers that the scheduler has not heard of for a while."""
    last = {address: worker["last_seen"] for address, worker in everyone.items()}
    newest = max(last.values(), default=0.0)
    return {address for address, seen in last.items() if newest - seen > _SILENCE}


async def _strike_off(addresses: list[str], dask_scheduler: Any = None) -> None:
    for address in addresses:
        await dask_scheduler.remove_worker(
            address, stimulus_id=f"fewknots-slow-{time.time()}", close=False
        )
