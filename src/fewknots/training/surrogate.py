r"""The surrogate between two rounds: a sample of the rows, corrected by the sums of all rows.

The client has a sample of n rows and can evaluate it often. Its sum times N/n is close to that of
all N rows, but has its maximum at another point. The surrogate is that sum plus the corrections
below, which follow from the round at (θ_k, q_k) and earlier rounds:

    B̃(θ, q) = s(θ, q) - KL[q ‖ p] + T(θ, q) + gᵀ(θ - θ_k) + ½ Σ c (rᵀ(θ - θ_k))² + const.

B̃ and the bound agree at (θ_k, q_k) to first order; their second derivatives agree as well as
those of n rows and of N rows. The next round is at the maximum of B̃. In every round the distance
of q to the bound's optimum falls by a factor of about √(M/n), that of θ by the relative error of
the sample's curvature, which is large in flat directions until the curvature corrections have
learned it. (Shamir, Srebro & Zhang 2014 for convex sums; Jordan, Lee & Yang 2018 for likelihoods.)

B̃ is maximised as in full_batch.py: L-BFGS outside; inside natural gradients from sums alone
(optimize/natural_rounds.py).

**The corrections.** Write θ for kernel and Z, q = N(m, S) for q(v), D(θ, q) for the bound's sum
over all rows, and s(θ, q) for the sample's sum times N/n. A round at (θ_k, q_k) gives D's value and
derivatives there. Derivatives for q are taken with respect to its expectation parameters, m and
S + mmᵀ (row_sums.py). The differences of those of D and s are

    h = (Aᵀ(wα + wβμ))_D - (Aᵀ(wα + wβμ))_s,     -½H with H = (Aᵀdiag(wβ)A)_D - (Aᵀdiag(wβ)A)_s.

**Correction for q** (T). hᵀm - ½ tr H(S + mmᵀ) would correct them at θ_k. But when Z and the kernel
move, v = L⁻¹u stands for other functions, while H stays fixed, and soon the precision is no longer
positive definite. So the correction is written in function values at the round's inducing points,
f_k = f(Z_k), which have the same meaning at every θ:

    T(θ, q) = E[h̃ᵀ f_k - ½ f_kᵀ H̃ f_k],     f_k = A v + ε,   A = (K(Z_k, Z) + νI) L⁻ᵀ,
            = h̃ᵀA m - ½ tr H̃(K_kk + A(S + mmᵀ - I)Aᵀ),      H̃ = L_k⁻ᵀ H L_k⁻¹,  h̃ = L_k⁻ᵀ h,

where ν is Kmm's jitter in the round, so that A = L_k at θ_k. For q it only changes the natural
parameters of the base of the KL term, to Λ₀ + AᵀH̃A and λ₀ + Aᵀh̃ (`Base`, as in `partial_fit`).
With Ā = h̃mᵀ + H̃A(I - S - mmᵀ), its derivatives with respect to kernel and Z are computed like
all others (features.py): K̄(Z_k, Z) = ĀL⁻¹, LᵀL̄ = -ĀᵀA, K̄_kk = -½H̃.

**Correction of the gradient.** The remaining difference g of the gradients with respect to θ is
added as gᵀ(θ - θ_k).

**Curvature corrections.** Each round shows the error of the sample's curvature along one
direction: the surrogate's gradient at the proposed point and the one that the round finds there
differ by r. The term ½ c (rᵀ(θ - θ_k))² with c = 1/(rᵀ(θ_k+1 - θ_k)) would have made them equal;
these terms, Broyden's symmetric rank-one formula for the curvature of D - s, are kept from round
to round.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..inference.features import added, whiten
from ..numerics.precision import compiled
from ..optimize.lbfgsb import flatten, unflattener
from ..optimize.natural_rounds import Damping, Seen
from ..stopping import StoppedEarly
from .full_batch import Problem
from .held_rows import Found, Point
from .parameters import Model, Named, decode
from .steps import Base, Naturals, gaussian
from .summation import Summation, Weighed, point_at, seen_at, weigh

_LEAST_COSINE = 0.03  # least cosine between r and the step for a useful correction
_INNER_SHARE = 0.01  # share of a round's least gain: an inaccurate q misleads L-BFGS
_ROUNDING = 1e-11  # relative to the bound: least predicted gain of a step
_MOST_STEPS = 20  # most steps on q for one θ
_SHORTEST_STEP = 1e-3
_LAST_LOOKS = 6  # to solve for q again at the best θ
# Iterations of L-BFGS between two rounds. More would go far from the point where the surrogate is
# accurate: on 60,000 generated rows 10, 20 and 50 ended after 35, 40 and 41 rounds, 20 a few nats
# higher.
_MOST_ITERATIONS = 20
_PATIENCE = 5  # times as many, before the search ends


class FunctionValues(NamedTuple):
    """T: a term added to the log probability of f(Z_k)."""

    points: Float[Any, "M D"]  # Z_k
    nugget: Float[Any, ""]  # ν
    quadratic: Float[Any, "L M M"]  # H̃
    linear: Float[Any, "L M"]  # h̃


class Carried(NamedTuple):
    """T at some θ and q."""

    base: Base  # the base with the part of T that depends on q
    value: Float[Array, ""]  # value of the rest of T
    gradient: Named  # gradient of T with respect to the free parameters


class CurvatureCorrections(NamedTuple):
    """The curvature of D - s, as far as known from earlier rounds."""

    directions: Float[np.ndarray, "K P"]  # r
    strengths: Float[np.ndarray, " K"]  # c

    @classmethod
    def none(cls, size: int) -> "CurvatureCorrections":
        """No corrections, before the second round."""
        return cls(np.zeros((0, size)), np.zeros(0))

    def learned(self, error: np.ndarray, step: np.ndarray) -> "CurvatureCorrections":
        """Add one, from the error of the gradient after a step."""
        along = float(error @ step)
        if not abs(along) > _LEAST_COSINE * np.linalg.norm(error) * np.linalg.norm(step):
            return self
        return CurvatureCorrections(
            np.vstack([self.directions, error]), np.append(self.strengths, 1.0 / along)
        )

    def at(self, moved: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at θ_k + `moved`."""
        slopes = self.strengths * (self.directions @ moved)
        gradient = slopes @ self.directions
        return 0.5 * float(gradient @ moved), gradient


def at_points(
    model: Model, whitener: Float[np.ndarray, "M M"], information: np.ndarray, linear: np.ndarray
) -> FunctionValues:
    """T from H and h."""
    assert model.Z is not None
    lower = np.linalg.inv(whitener)
    nugget = np.mean(np.diagonal(lower @ lower.T) - np.asarray(model.kernel.diagonal(model.Z)))
    return FunctionValues(model.Z, nugget, whitener.T @ information @ whitener, linear @ whitener)


@compiled
def carried(
    values: FunctionValues, free: Named, frozen: Named, base: Base, naturals: Naturals, jitter
) -> Carried:
    """T at the current kernel and Z."""
    model, pullback = jax.vjp(lambda free: decode(free, frozen), free)
    assert model.Z is not None
    whitening = whiten(model.kernel, model.Z, jitter)
    q = gaussian(naturals, naturals.precision.dtype)
    points, H, h = values.points, values.quadratic, values.linear

    def kernel_matrices(kernel, Z):
        return kernel(points, Z), kernel(points, points)

    (cross, own), kernel_pullback = jax.vjp(kernel_matrices, model.kernel, model.Z)
    identity = jnp.eye(len(points), dtype=cross.dtype)
    A = (cross + values.nugget * identity) @ whitening.whitener.T
    information = A.T @ H @ A
    second_moment = q.factor.mT @ q.factor + q.mean[:, :, None] * q.mean[:, None, :]
    dA = h.T @ q.mean + jnp.sum(H @ A @ (identity - second_moment), axis=0)
    through_kernel = kernel_pullback((dA @ whitening.whitener, -0.5 * jnp.sum(H, axis=0)))
    d_kernel, d_points = added(through_kernel, whitening.pullback(-dA.T @ A))
    nothing = jax.tree.map(jnp.zeros_like, model.likelihood)
    (gradient,) = pullback(Model(d_kernel, d_points, nothing))
    prior = base.naturals
    changed = Naturals(prior.precision + information, prior.linear + h @ A)
    value = -0.5 * (jnp.sum(H * own) - jnp.sum(information * identity))
    return Carried(Base(changed, base.constant), value, gradient)


class Iterate(NamedTuple):
    """θ and q."""

    free: Named
    q: Naturals


class Visited(NamedTuple):
    """A point, and the bound of all rows there."""

    place: Iterate
    found: Found
    weighed: Weighed


class Proposal(NamedTuple):
    """The maximum of the surrogate, and its predicted gain over the point of the round."""

    place: Iterate
    promise: float
    gradient: Float[np.ndarray, " P"]  # predicted gain with the best q
    of_q: float  # predicted gain from q alone
    first_order: float  # the same plus the first-order gain for θ


class Sample(NamedTuple):
    """The sample that a surrogate is made from."""

    rows: Summation
    scale: float  # N/n, by weight
    base: Base
    frozen: Named
    problem: Problem
    worthwhile: float  # least gain of a round, in nats
    looks: int  # evaluations of the sample between two rounds

    def look(self, place: Iterate, jitter: float) -> Found:
        """The sample's sums, times N/n."""
        model, q = point_at(place.free, self.frozen, place.q)
        found = self.rows(jax.tree.map(np.asarray, Point(model, q, jitter)))
        return found._replace(sums=jax.tree.map(lambda part: self.scale * part, found.sums))


class _Looked(NamedTuple):
    """The surrogate at one point, without gradient and curvature corrections."""

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
        self.looks_left = sample.looks

    def proposal(
        self, reach: tuple[Named, Named], is_asked_to_stop: Callable[[], bool]
    ) -> Proposal:
        """The maximum within `reach`, the lower and upper limits of θ."""
        free, worthwhile = self.free, self.sample.worthwhile
        value_here, gradient_here = self.solved(free)
        for patience in (1, _PATIENCE):
            self.looks_left = patience * self.sample.looks
            if free:
                free, *_ = self.sample.problem.maximise(
                    self,
                    free,
                    reach,
                    max_iter=patience * _MOST_ITERATIONS,
                    plateau_gain=worthwhile / patience,
                    on_iteration=lambda value: is_asked_to_stop(),
                )
            self.looks_left = _LAST_LOOKS
            value, gradient = self.solved(free)
            if value - self.bound > worthwhile or is_asked_to_stop():
                break  # it may be the end of the fit, which needs more iterations to decide
        of_q = value_here - self.bound
        first_order = of_q + max(float(gradient_here @ (flatten(free) - self.origin)), 0.0)
        return Proposal(Iterate(free, self.q), value - self.bound, gradient, of_q, first_order)

    def __call__(self, free: Named) -> tuple[float, Named]:
        if self.looks_left <= 0:
            raise StoppedEarly
        value, gradient = self.solved(free)
        return value, unflattener(free)(gradient)

    def gradient_here(self) -> Float[np.ndarray, " P"]:
        """Gradient of the bound with respect to θ at θ_k, at the best q there."""
        return self.solved(self.free)[1]

    def solved(self, free: Named) -> tuple[float, Float[np.ndarray, " P"]]:
        """Natural-gradient steps from the last q, until the predicted gain of a step is too
        small.
        """
        tolerance = max(_INNER_SHARE * self.sample.worthwhile, _ROUNDING * abs(self.bound))
        self.damping.forget()
        now, length = self._look(free, self.q), 1.0
        if np.isfinite(now.value):
            self.damping.learn(now.seen)
            for _ in range(_MOST_STEPS):
                if self.looks_left <= 0:
                    break
                step = self.damping.step(now.seen, length)
                if step is None:  # far from θ_k the corrected precision may be indefinite
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
        self.looks_left -= 1
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
