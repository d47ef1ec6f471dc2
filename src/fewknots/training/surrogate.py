r"""A sample that stands for all rows, after they have been asked once: what a round is worth.

Write θ for kernel and Z, q = N(m, S) for q(v), and D(θ, q) for the bound's sum over all rows. The
client has a sample of them. Its own sum times N/n, s(θ, q), is close to D but has its optimum
elsewhere. A round at (θ_k, q_k) tells D's value and derivatives there. The surrogate has them too:

    B̃(θ, q) = s(θ, q) + c + gᵀ(θ - θ_k) + hᵀm - ½ tr H(S + mmᵀ) - KL[q ‖ p],              (surrogate)

    g = ∂D/∂θ - ∂s/∂θ,    h = (Aᵀ(wα + wβμ))_D - (..)_s,    H = (Aᵀ diag(wβ) A)_D - (..)_s,

all at (θ_k, q_k): h and -½H are the differences of the derivatives for q's expectations, m and
S + mmᵀ, for that is what those sums are (row_sums.py). Since -KL[q ‖ p] is itself linear in them
but for log|S|, both corrections are a change of the prior's natural parameters, Λ₀ + H and λ₀ + h,
and no other code than that of the bound is needed.

So B̃ and the bound agree at (θ_k, q_k) to first order, and in their second derivatives as well as n
rows agree with N: maximising B̃ in the client, as often as it takes to look at the sample, replaces
many rounds. Its maximum is (θ_k+1, q_k+1), and the distance to the bound's own falls with every
round by a factor that is about the relative error of the sample's curvature, for q √(M/n). (Shamir,
Srebro & Zhang 2014 for convex sums; Jordan, Lee & Yang 2018 for likelihoods.)

B̃ is trusted near θ_k only: within a box, |θ - θ_k| ≤ r in every coordinate (rounds.py chooses r).
It is maximised as in full_batch.py: L-BFGS outside, natural gradients (optimize/natural_rounds.py)
inside, and the inner problem only as well as the outer gain asks for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.features import added, whiten
from ..optimize.lbfgsb import flatten
from ..optimize.natural_rounds import Damping, Seen
from .full_batch import Problem
from .held_rows import Found, Point
from ..precision import compiled
from .parameters import Model, Named, decode
from .steps import Base, Naturals, gaussian
from .summation import Summation, Weighed, point_at, weigh

_FIRST_TOLERANCE = 0.01  # nats, of the inner solve before there is an outer gain to compare with
_INNER_SHARE = 0.2  # of the last outer gain
_PLATEAU_SHARE = 0.1  # of what a round must gain: what ten iterations of L-BFGS must
_MOST_STEPS = 20  # for one θ
_LAST_SHARE = 1e-3  # of what a round must gain: how well q is solved for in the end
_SHORTEST_STEP = 1e-3


class Place(NamedTuple):
    """A point in the space of θ and q."""

    free: Named
    q: Naturals


class Standing(NamedTuple):
    """A place, and what all rows say there."""

    place: Place
    found: Found
    weighed: Weighed


class Proposal(NamedTuple):
    """Where the surrogate is best, and how much better than where the round was."""

    place: Place
    promise: float


class _Correction(NamedTuple):
    """What makes the sample agree with all rows at one place."""

    points: Any  # Z_k
    nugget: Any
    quadratic: Any  # H̃
    linear: Any  # h̃
    free: Named  # θ_k
    gradient: Named  # g
    constant: float


class _Carried(NamedTuple):
    base: Base
    value: Any
    gradient: Named


@compiled
def _carried(free, frozen, base, points, nugget, H, h, naturals, jitter) -> _Carried:
    model, pullback = jax.vjp(lambda free: decode(free, frozen), free)
    whitening = whiten(model.kernel, model.Z, jitter)
    q = gaussian(naturals, naturals.precision.dtype)
    (Knm, Kkk), back = jax.vjp(lambda k, Z: (k(points, Z), k(points, points)), model.kernel, model.Z)
    identity = jnp.eye(len(points))
    A = (Knm + nugget * identity) @ whitening.whitener.T
    information = A.T @ H @ A
    unlearned = identity - q.factor.T @ q.factor - jnp.outer(q.mean, q.mean)
    dA = jnp.outer(h, q.mean) + H @ A @ unlearned
    d_model = added(back((dA @ whitening.whitener, -0.5 * H)), whitening.pullback(-dA.T @ A))
    nothing = jax.tree.map(jnp.zeros_like, model.likelihood)
    (gradient,) = pullback(Model(*d_model, nothing))
    value = -0.5 * (jnp.sum(H * Kkk) - jnp.trace(information))
    prior = base.naturals
    moved = Base(Naturals(prior.precision + information, prior.linear + h @ A), base.constant)
    return _Carried(moved, value, gradient)


class Surrogate:
    """What a sample of the rows says, as if it were all of them."""

    def __init__(
        self, sample: Summation, total_weight: float, base: Base, frozen: Named, problem: Problem
    ):
        self.sample, self.base, self.frozen, self.problem = sample, base, frozen, problem
        self.scale = total_weight / sample.total_weight
        self.worthwhile = problem.tol * total_weight  # nats

    def proposal(
        self,
        here: Standing,
        reach: tuple[Named, Named],
        jitter: float,
        max_iter: int,
        is_asked_to_stop: Callable[[], bool],
    ) -> Proposal:
        """The surrogate's maximum within `reach`, the lowest and highest θ."""
        search = _Search(self, self._correction(here, jitter), here.place.q, jitter)

        def on_iteration(value: float) -> bool:
            search.follow(value)
            return is_asked_to_stop()

        free = here.place.free
        if free:
            free, *_ = self.problem.maximise(
                search,
                free,
                reach,
                max_iter=max_iter,
                plateau_gain=_PLATEAU_SHARE * self.worthwhile,
                on_iteration=on_iteration,
            )
        its = search.iterations
        value = search.solve(free, _LAST_SHARE * self.worthwhile)
        self.trace = f"iterations {its} looks {search.looks}"
        return Proposal(Place(free, search.q), value - float(here.weighed.bound))

    def look(self, place: Place, jitter: float) -> Found:
        """The sample's sums, times what it stands for."""
        model, q = point_at(place.free, self.frozen, place.q)
        found = self.sample(jax.tree.map(np.asarray, Point(model, q, jitter)))
        return found._replace(sums=jax.tree.map(lambda s: self.scale * s, found.sums))

    def weighed(self, place: Place, c: _Correction, found: Found, jitter: float):
        """What they mean."""
        carried = _carried(place.free, self.frozen, self.base, c.points, c.nugget, c.quadratic, c.linear, place.q, jitter)
        weighed = weigh(place.free, self.frozen, carried.base, place.q, found, jitter)
        weighed = jax.tree.map(np.asarray, weighed)
        return weighed, float(weighed.bound + carried.value), jax.tree.map(np.add, weighed.gradient, carried.gradient)

    def _correction(self, here: Standing, jitter: float) -> _Correction:
        found = self.look(here.place, jitter)
        of_all, of_sample = here.found.sums, found.sums
        whitener = here.weighed.whitener
        H = whitener.T @ (of_all.information - of_sample.information) @ whitener
        h = whitener.T @ (of_all.linear - of_sample.linear)
        Z = here.weighed.model.Z
        lower = np.linalg.inv(whitener)
        nugget = np.mean(np.diagonal(lower @ lower.T - np.asarray(here.weighed.model.kernel(Z, Z))))
        correction = _Correction(Z, nugget, H, h, here.place.free, here.weighed.gradient, 0.0)
        weighed, value, gradient = self.weighed(here.place, correction, found, jitter)
        gradient = jax.tree.map(np.subtract, here.weighed.gradient, gradient)
        constant = float(here.weighed.bound - value)
        return correction._replace(gradient=gradient, constant=constant)


class _Search:
    """The surrogate at the best q, as a function of θ; it remembers the last q."""

    def __init__(self, surrogate: Surrogate, correction: _Correction, q: Naturals, jitter: float):
        self.surrogate, self.correction, self.q, self.jitter = surrogate, correction, q, jitter
        self.damping = Damping()
        self.tolerance = max(_FIRST_TOLERANCE, 0.1 * surrogate.worthwhile)
        self.value = -np.inf
        self.looks = self.iterations = 0

    def __call__(self, free: Named) -> tuple[float, Named]:
        value = self.solve(free, self.tolerance)
        return value, jax.tree.map(np.add, self.gradient, self.correction.gradient)

    def follow(self, value: float) -> None:
        """After an outer iteration: solve the next inner problem as well as the gain asks for."""
        self.iterations += 1
        gain = value - self.value
        if np.isfinite(gain):
            least = 0.1 * _PLATEAU_SHARE * self.surrogate.worthwhile
            self.tolerance = _INNER_SHARE * max(gain, least)
        self.value = value

    def solve(self, free: Named, tolerance: float) -> float:
        """Natural-gradient steps from the q before, until a step promises too little."""
        self.damping.forget()
        now, value, gradient = self._look(Place(free, self.q))
        length = 1.0
        if np.isfinite(value):
            self.damping.learn(_seen(self.q, now))
            for _ in range(_MOST_STEPS):
                try:
                    step = self.damping.step(_seen(self.q, now), length)
                except np.linalg.LinAlgError:
                    import os
                    if os.environ.get("TRACE"): print("not PD", length)
                    length *= 0.5
                    if length < _SHORTEST_STEP:
                        break
                    continue
                if step.promise < tolerance or length < _SHORTEST_STEP:
                    break
                q = Naturals(step.precision, step.linear)
                then, v, g = self._look(Place(free, q))
                if v > value - 1e-13 * abs(value):
                    self.q, now, value, gradient, length = q, then, v, g, min(1.0, 2.0 * length)
                    self.damping.learn(_seen(q, then))
                else:
                    length *= 0.5
        self.gradient = gradient
        moved = jax.tree.map(np.subtract, free, self.correction.free)
        along = flatten(self.correction.gradient) @ flatten(moved) if free else 0.0
        return value + along + self.correction.constant

    def _look(self, place: Place):
        self.looks += 1
        found = self.surrogate.look(place, self.jitter)
        return self.surrogate.weighed(place, self.correction, found, self.jitter)


def _seen(q: Naturals, now: Weighed) -> Seen:
    return Seen(*map(np.asarray, (q.precision, now.q.mean, now.q.factor, *now.target)))
