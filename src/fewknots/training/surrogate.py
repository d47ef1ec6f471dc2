r"""A sample that stands for all rows, after they have been asked: what a round is worth.

The client has a sample of the rows and can look at it as often as it likes. Its sum times N/n is
close to that of all rows, but has its optimum elsewhere. The surrogate is that sum with the
corrections of correction.py, which follow from one round at (θ_k, q_k) and the rounds before:

    B̃(θ, q) = s(θ, q) - KL[q ‖ p] + T(θ, q) + gᵀ(θ - θ_k) + ½ Σ c (rᵀ(θ - θ_k))² + const.

B̃ and the bound agree at (θ_k, q_k) to first order, and in their second derivatives as well as n
rows agree with N. Its maximum is the next place to ask at. For q the distance to the bound's
optimum falls with every round by a factor of about √(M/n); for θ by the relative error of the
sample's curvature, which in flat directions is large until the corrections have learned it.
(Shamir, Srebro & Zhang 2014 for convex sums; Jordan, Lee & Yang 2018 for likelihoods.)

B̃ is maximised as in full_batch.py: L-BFGS outside; inside natural gradients from sums alone
(optimize/natural_rounds.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..optimize.lbfgsb import flatten, unflattener
from ..optimize.natural_rounds import Damping, Seen
from .correction import CurvatureCorrections, at_points, carried
from .full_batch import Problem
from .held_rows import Found, Point
from .parameters import Named
from .steps import Base, Naturals
from .summation import Summation, Weighed, point_at, seen_at, weigh

_INNER_SHARE = 0.01  # of what a round must gain: L-BFGS takes what q lacks for a bad step
_ROUNDING = 1e-11  # of the bound: no step need promise less
_MOST_STEPS = 20  # on q, for one θ
_SHORTEST_STEP = 1e-3
# Of L-BFGS between two rounds. More would take to the end what is right only near the beginning:
# on 60,000 made-up rows 10, 20 and 50 end after 35, 40 and 41 rounds, and 20 a few nats higher.
_MOST_ITERATIONS = 20
_PATIENCE = 5  # times as many, before the search is given up for good


class Iterate(NamedTuple):
    """θ and q."""

    free: Named
    q: Naturals


class Visited(NamedTuple):
    """A place, and what all rows say there."""

    place: Iterate
    found: Found
    weighed: Weighed


class Proposal(NamedTuple):
    """Where the surrogate is best, and how much better than where the round was."""

    place: Iterate
    promise: float
    gradient: Float[np.ndarray, " P"]  # for θ there, at the best q
    of_q: float  # what q alone would gain
    first_order: float  # that, and what the gradient for θ says


class Sample(NamedTuple):
    """What a surrogate is made of."""

    rows: Summation
    scale: float  # N/n, by weight
    base: Base
    frozen: Named
    problem: Problem
    worthwhile: float  # what a round must gain, in nats

    def look(self, place: Iterate, jitter: float) -> Found:
        """The sample's sums, times what it stands for."""
        model, q = point_at(place.free, self.frozen, place.q)
        found = self.rows(jax.tree.map(np.asarray, Point(model, q, jitter)))
        return found._replace(sums=jax.tree.map(lambda part: self.scale * part, found.sums))


class _Looked(NamedTuple):
    """The surrogate at one place, but for slope and corrections."""

    value: float
    gradient: Float[np.ndarray, " P"]
    seen: Seen


class Surrogate:
    """B̃ at the best q, as a function of θ; it remembers the last q."""

    def __init__(
        self, sample: Sample, here: Visited, corrections: CurvatureCorrections, jitter: float
    ):
        self.sample, self.corrections, self.jitter = sample, corrections, jitter
        self.bound, self.free, self.q = float(here.weighed.bound), here.place.free, here.place.q
        found = sample.look(here.place, jitter)
        of_all, of_sample = here.found.sums, found.sums
        self.values = at_points(
            here.weighed.model,
            here.weighed.whitener,
            of_all.information - of_sample.information,
            of_all.linear - of_sample.linear,
        )
        before = self._weighed(here.place, found)
        self.origin = flatten(self.free)
        self.slope = flatten(here.weighed.gradient) - before.gradient
        self.constant = self.bound - before.value
        self.damping = Damping()

    def proposal(
        self, reach: tuple[Named, Named], is_asked_to_stop: Callable[[], bool]
    ) -> Proposal:
        """The maximum within `reach`, the lowest and highest θ."""
        free, worthwhile = self.free, self.sample.worthwhile
        value_here, gradient_here = self.solved(free)
        for patience in (1, _PATIENCE):
            if free:
                free, *_ = self.sample.problem.maximise(
                    self,
                    free,
                    reach,
                    max_iter=patience * _MOST_ITERATIONS,
                    plateau_gain=worthwhile / patience,
                    on_iteration=lambda value: is_asked_to_stop(),
                )
            value, gradient = self.solved(free)
            if value - self.bound > worthwhile or is_asked_to_stop():
                break  # or it may be the end, which a few iterations must not decide
        of_q = value_here - self.bound
        first_order = of_q + max(float(gradient_here @ (flatten(free) - self.origin)), 0.0)
        return Proposal(Iterate(free, self.q), value - self.bound, gradient, of_q, first_order)

    def __call__(self, free: Named) -> tuple[float, Named]:
        value, gradient = self.solved(free)
        return value, unflattener(free)(gradient)

    def gradient_here(self) -> Float[np.ndarray, " P"]:
        """Gradient of the bound with respect to θ at θ_k, at the best q there."""
        return self.solved(self.free)[1]

    def solved(self, free: Named) -> tuple[float, Float[np.ndarray, " P"]]:
        """Natural-gradient steps from the q before, until a step promises too little."""
        tolerance = max(_INNER_SHARE * self.sample.worthwhile, _ROUNDING * abs(self.bound))
        self.damping.forget()
        now, length = self._look(free, self.q), 1.0
        if np.isfinite(now.value):
            self.damping.learn(now.seen)
            for _ in range(_MOST_STEPS):
                step = self.damping.step(now.seen, length)
                if step is None:  # far from θ_k the correction may leave no positive precision
                    length *= 0.5
                    continue
                if step.promise < tolerance or length < _SHORTEST_STEP:
                    break
                q = Naturals(step.precision, step.linear)
                then = self._look(free, q)
                if then.value > now.value - 1e-13 * abs(now.value):
                    self.q, now, length = q, then, min(1.0, 2.0 * length)
                    self.damping.learn(now.seen)
                else:
                    length *= 0.5
        moved = flatten(free) - self.origin
        bent, bend = self.corrections.at(moved)
        value = now.value + float(self.slope @ moved) + bent + self.constant
        return value, now.gradient + self.slope + bend

    def _look(self, free: Named, q: Naturals) -> _Looked:
        place = Iterate(free, q)
        return self._weighed(place, self.sample.look(place, self.jitter))

    def _weighed(self, place: Iterate, found: Found) -> _Looked:
        (free, q), (_, _, base, frozen, *_) = place, self.sample
        along = carried(self.values, free, frozen, base, q, self.jitter)
        weighed = weigh(free, frozen, along.base, q, found, self.jitter)
        return _Looked(
            float(weighed.bound + along.value),
            flatten(weighed.gradient) + flatten(along.gradient),
            seen_at(q, weighed),
        )
