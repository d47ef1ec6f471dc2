"""One round on a cluster: parameters out, a tree of sums back.

    question ──► share 0 ─┐
             ──► share 1 ─┼─► sum ─┐
             ──► ...      ─┘        ├─► sum ──► the client
             ──► share 8 ───► sum ─┘

Sums are added up exactly (training/held_rows.py), and blocks of rows are whole (whole_blocks.py).
So a sum is the same to the last bit however the rows are split and whoever computed its parts; a
worker that was lost and replaced changes nothing.

**Lost workers** are Dask's business: it knows how each result was made and makes it again.
**Slow workers** are made lost ones (stragglers.py).
**A lost scheduler** ends the fit with an error that says how to go on (connection.py).
"""

from collections.abc import Sequence
from typing import Any

from distributed import Client, Future

from ..training.held_rows import Found, PartFound, Point, Subset, summed
from . import workers
from .connection import Versions, translate_errors
from .stragglers import Watch, patience_after

FAN_IN = 8  # sums added up by one task


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
        self._usual: list[float] = []

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        self.rounds += 1
        question = workers.Question(point, subset, self.device, self.versions)
        with translate_errors(self.client, f"round {self.rounds}", self.checkpoint):
            return summed(self._round(question), self.total_weight)

    def _round(self, question: workers.Question) -> PartFound:
        asked = self.client.submit(workers.as_is, question, pure=False)
        answers = [
            self.client.submit(workers.answer, share, asked, pure=False) for share in self.held
        ]
        root = self._tree(answers)
        ours = (future.key for future in (*self.held, asked, *answers, root))
        watch = Watch(self.client, "a round", ours, patience_after(self._usual))
        watch.until_done([root])
        found = root.result()
        self._usual = [*self._usual[-9:], watch.seconds]
        return found

    def _tree(self, level: Sequence[Future]) -> Future:
        """Add up neighbours, eight at a time, until one is left."""
        while len(level) > 1:
            level = [
                self.client.submit(workers.add_up, list(level[i : i + FAN_IN]), pure=False)
                for i in range(0, len(level), FAN_IN)
            ]
        return level[0]
