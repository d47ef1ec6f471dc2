"""One round on a cluster: parameters out, a tree of sums back.

    question ──► share 0 ─┐
             ──► share 1 ─┼─► sum ─┐
             ──► ...      ─┘        ├─► sum ──► the client
             ──► share 8 ───► sum ─┘

Shares are formed once, and the tree follows from their numbers alone. So a sum is the same to the
last bit whoever computed its parts: a worker that was lost and replaced changes nothing.

**Lost workers** are Dask's business: it knows how each result was made and makes it again.
**Slow workers** are ours. A share that has not answered long after a round usually ends is loaded
once more on another worker, and whichever is ready first counts.
**A lost scheduler** ends the fit with an error that says how to go on.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import dask
import numpy as np
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from distributed import CancelledError, Client, Future, KilledWorker, wait

from ..exceptions import ClusterError
from ..training.held_rows import Found, Point, Span, Subset
from . import workers
from .versions import Versions

FAN_IN = 8  # sums added up by one task
_SILENCE = 5.0  # seconds without a word, when others were heard of
_LOOK = 1.0  # seconds between two looks at a round that is not done
_PATIENCE = {"straggler-seconds": 60.0, "straggler-times": 10.0}


class Share:
    """Some partitions on their way from where they lie to sums."""

    def __init__(
        self, source: Callable[[], Any], spans: dict[int, Span], preparation: workers.Preparation
    ):
        """`source` makes a Dask delayed call of `workers.load`, a new one each time."""
        self.source = source
        self.spans, self.preparation = spans, preparation
        self.held: Future | None = None
        self.copy: Future | None = None  # of the same rows, elsewhere, if the first are slow

    def place(self, client: Client, loaded: Future | None) -> None:
        """Prepare rows that are loaded."""
        self.held = client.submit(workers.prepare, loaded, self.spans, self.preparation, pure=False)

    def place_elsewhere(self, client: Client, others: Sequence[str]) -> None:
        """Load and prepare the rows once more, on one of the other workers."""
        again = dask.delayed(workers.prepare, pure=False)(self.source, self.spans, self.preparation)
        self.copy = client.compute(again, workers=list(others), optimize_graph=False)


class ClusterSums:
    """The rows of a fit, spread over a cluster (a `Summation`)."""

    def __init__(
        self,
        client: Client,
        shares: Sequence[Share],
        total_weight: float,
        device: str,
        versions: Versions,
        checkpoint: Any = None,
    ):
        self.client, self.shares = client, list(shares)
        self.total_weight = total_weight
        self.device, self.versions, self.checkpoint = device, versions, checkpoint
        self.rounds = 0
        self.replaced = 0  # shares that were computed elsewhere because a worker was slow
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
        began = time.perf_counter()
        asked = self.client.submit(workers.as_is, question, pure=False)
        answers = [self._ask(share.held, asked) for share in self.shares]
        copies: dict[int, Future] = {}
        root = self._tree(answers)
        while not self._is_done(root):
            self._check_scheduler()
            if time.perf_counter() - began > self._patience():
                self._speed_up(answers, copies, question)
            if self._prefer_copies(answers, copies):
                root = self._tree(answers)
        found = root.result()
        self._usual = [*self._usual[-9:], time.perf_counter() - began]
        return found

    def _ask(self, held: Future | None, asked: Future) -> Future:
        return self.client.submit(workers.answer, held, asked, pure=False)

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

    def _speed_up(
        self, answers: list[Future], copies: dict[int, Future], question: workers.Question
    ) -> None:
        """Ask other workers for the shares that are late."""
        late = [i for i, future in enumerate(answers) if not future.done() and i not in copies]
        everyone = self.client.scheduler_info(n_workers=-1)["workers"]
        slow = self._silent(everyone) | self._at_work([answers[i] for i in late])
        others = sorted(set(everyone) - slow)
        if not (late and slow and others):
            return
        # The question itself may lie on a slow worker.
        asked = self.client.submit(workers.as_is, question, workers=others, pure=False)
        for i in late:
            share = self.shares[i]
            if not self._holders(share) - slow:
                share.place_elsewhere(self.client, others)
            held = share.held if share.copy is None else share.copy
            copies[i] = self.client.submit(workers.answer, held, asked, workers=others, pure=False)

    def _silent(self, everyone: dict[str, Any]) -> set[str]:
        """Workers that the scheduler has not heard of for a while."""
        last = {address: worker["last_seen"] for address, worker in everyone.items()}
        newest = max(last.values(), default=0.0)
        return {address for address, seen in last.items() if newest - seen > _SILENCE}

    def _at_work(self, futures: Sequence[Future]) -> set[str]:
        """Workers that have one of these tasks in hand."""
        wanted = {str(future.key) for future in futures}
        in_hand = self.client.processing()
        return {worker for worker, keys in in_hand.items() if wanted & set(map(str, keys))}

    def _holders(self, share: Share) -> set[str]:
        held = share.held
        return set() if held is None else set(self.client.who_has([held]).get(held.key, ()))

    def _prefer_copies(self, answers: list[Future], copies: dict[int, Future]) -> bool:
        """Where a copy has answered first, go on with it from now on."""
        taken = [i for i, copy in copies.items() if copy.status == "finished"]
        changed = False
        for i in taken:
            copy = copies.pop(i)
            if not answers[i].done():
                answers[i], changed = copy, True
                if self.shares[i].copy is not None:
                    self.shares[i].held, self.shares[i].copy = self.shares[i].copy, None
                    self.replaced += 1
        return changed

    # --- a scheduler that is gone -------------------------------------------------------------

    def _check_scheduler(self) -> None:
        if self.client.status != "running":
            raise self._lost(None)

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
