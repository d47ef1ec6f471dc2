"""Where a run of many steps stands, and what follows from it, whatever its steps are.

A run is a function of its plan, its start and its seed. `RunState` is what changes on the way
beside the parameters: it goes into every checkpoint, so that a run can be taken up in the middle.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from ..exceptions import NumericalError, NumericalWarning, warn
from ..stopping import TimeLimit
from .saved_form import Saved
from .schedule import Pace, Plan, has_plateaued

_MOST_RETRIES = 5


class Measure(NamedTuple):
    """What a chunk of steps has shown."""

    steps: int
    bound: float  # of all rows, or an estimate of it
    objective: float  # the same per unit of weight
    held_out_nlp: float | None = None
    is_good: bool = True  # else the chunk is to be undone


class RunState(NamedTuple):
    """Where a run stands."""

    done: int
    pace: Pace
    slowdown: float
    retries: int
    seconds: float
    lowest: float  # the lowest objective per unit of weight so far
    scores: tuple[float, ...]

    @classmethod
    def at_first(cls, plan: Plan) -> "RunState":
        """Before the first step."""
        return cls(0, Pace(0, 0.0, plan.steps), 1.0, 0, 0.0, 0.0, ())

    @classmethod
    def of(cls, saved: Saved, plan: Plan) -> "RunState":
        """As a checkpoint has it; the plan may have become longer or shorter since."""
        if "standing" not in saved.header:  # in rounds, kept by an older fewknots
            done = saved.header["rounds" if "rounds" in saved.header else "done"]
            return cls.at_first(plan)._replace(done=done)
        held = saved.header["standing"]
        pace, done = Pace(**held["pace"]), held["done"]
        if saved.header["planned_steps"] != plan.steps:
            pace = Pace(done, min(pace.share(done), done / plan.steps), plan.steps)
        return cls(**(held | {"pace": pace, "scores": tuple(held["scores"])}))

    def header(self, plan: Plan, seed: int) -> dict[str, Any]:
        """What a checkpoint is to say of it."""
        return {
            "standing": self._asdict() | {"pace": self.pace._asdict()},
            "planned_steps": plan.steps,
            "seed": seed,
        }

    def share(self, limit: TimeLimit | None) -> float:
        """How much of the run is over: of its steps or of its time, whichever is more."""
        share = self.pace.share(self.done)
        return share if limit is None else max(share, limit.share())

    def after(
        self, found: Measure, limit: TimeLimit | None, seconds: float, tol: float, patience: int
    ) -> "RunState":
        """After steps that went well; if there have been no better scores for long, near the end.

        The score is the objective, unless rows are held out.
        seconds : that the fit has taken by now
        """
        now = self._replace(done=self.done + found.steps)
        score = found.objective if found.held_out_nlp is None else -found.held_out_nlp
        scores = (*self.scores, score)
        pace, share = self.pace, now.share(limit)
        cooling = pace.from_step > 0 or limit is not None
        if not cooling and has_plateaued(scores, share, tol, patience):
            pace = pace.ending(now.done, share)
        return now._replace(
            pace=pace,
            retries=0,
            seconds=seconds,
            lowest=min(self.lowest, found.objective),
            scores=scores,
        )

    def slower(self, steps: int, advice: str) -> "RunState":
        """After steps that diverged and are undone: half the rates, and a warning."""
        if self.retries >= _MOST_RETRIES:
            raise NumericalError(
                f"training diverged {self.retries + 1} times in a row around step {self.done}, "
                f"also with rates {self.slowdown:g} times the usual. Try {advice}."
            )
        slowdown = 0.5 * self.slowdown
        warn(
            f"steps {self.done} to {self.done + steps} diverged; they are undone and run again "
            f"with {slowdown:g} times the usual rates.",
            NumericalWarning,
        )
        return self._replace(slowdown=slowdown, retries=self.retries + 1)


def all_finite(tree: Any) -> bool:
    """Whether every number of a state is one."""
    return all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(tree))
