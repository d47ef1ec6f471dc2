r"""What makes a sample agree with all rows: to first order at one place, further with each round.

Write θ for kernel and Z, q = N(m, S) for q(v), D(θ, q) for the bound's sum over all rows, and
s(θ, q) for the sample's, times N/n. A round at (θ_k, q_k) tells D's value and derivatives there.
Derivatives for q are those for its expectations, m and S + mmᵀ (row_sums.py):

    h = (Aᵀ(wα + wβμ))_D - (Aᵀ(wα + wβμ))_s,     -½H with H = (Aᵀdiag(wβ)A)_D - (Aᵀdiag(wβ)A)_s.

**Carried along.** hᵀm - ½ tr H(S + mmᵀ) would repair them at θ_k. But v = L⁻¹u means another
function wherever Z and the kernel have moved to, and H, held fixed while s's own sums turn with L,
soon leaves no positive precision. So the correction is one of function values where the inducing
points stood in the round, f_k = f(Z_k), which mean the same at every θ:

    T(θ, q) = E[h̃ᵀ f_k - ½ f_kᵀ H̃ f_k],     f_k = A v + ε,   A = (K(Z_k, Z) + νI) L⁻ᵀ,
            = h̃ᵀA m - ½ tr H̃(K_kk + A(S + mmᵀ - I)Aᵀ),      H̃ = L_k⁻ᵀ H L_k⁻¹,  h̃ = L_k⁻ᵀ h,

ν being Kmm's jitter in the round, so that A = L_k at θ_k. For q it changes nothing but the natural
parameters of what q is measured against, to Λ₀ + AᵀH̃A and λ₀ + Aᵀh̃: `Base`, as when rows come in
instalments. With Ā = h̃mᵀ + H̃A(I - S - mmᵀ), its derivatives for kernel and Z go the way of all
others (features.py): K̄(Z_k, Z) = ĀL⁻¹, LᵀL̄ = -ĀᵀA, K̄_kk = -½H̃.

**Slope.** What is then left of the gradient for θ is added as it is, gᵀ(θ - θ_k).

**Curvature corrections.** Where the sample's curvature for θ is wrong, each round shows it along
one direction: the surrogate's gradient at the place it proposed, and the one that the round found
there, differ by r.
½ c (rᵀ(θ - θ_k))² with c = 1/(rᵀ(θ_k+1 - θ_k)) would have made them equal; these terms, Broyden's
symmetric rank-one formula for the curvature of D - s, are kept from round to round.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..inference.features import added, whiten
from ..numerics.precision import compiled
from .parameters import Model, Named, decode
from .steps import Base, Naturals, gaussian

_LEAST_COSINE = 0.03  # between r and the step, for a bend to mean anything


class FunctionValues(NamedTuple):
    """T: what is added to the log probability of f(Z_k)."""

    points: Float[Any, "M D"]  # Z_k
    nugget: Float[Any, ""]  # ν
    quadratic: Float[Any, "L M M"]  # H̃
    linear: Float[Any, "L M"]  # h̃


class Carried(NamedTuple):
    """T at some θ and q."""

    base: Base  # with T's part that depends on q
    value: Float[Array, ""]  # of the rest
    gradient: Named  # of all of T, for the free parameters


class CurvatureCorrections(NamedTuple):
    """What earlier rounds have shown of the curvature of D - s."""

    directions: Float[np.ndarray, "K P"]  # r
    strengths: Float[np.ndarray, " K"]  # c

    @classmethod
    def none(cls, size: int) -> "CurvatureCorrections":
        """Before the second round."""
        return cls(np.zeros((0, size)), np.zeros(0))

    def learned(self, error: np.ndarray, step: np.ndarray) -> "CurvatureCorrections":
        """One more, from the gradient's error after a step."""
        along = float(error @ step)
        if not abs(along) > _LEAST_COSINE * np.linalg.norm(error) * np.linalg.norm(step):
            return self
        return CurvatureCorrections(
            np.vstack([self.directions, error]), np.append(self.strengths, 1.0 / along)
        )

    def at(self, moved: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, `moved` away from θ_k."""
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
    """T where kernel and Z have moved to."""
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
