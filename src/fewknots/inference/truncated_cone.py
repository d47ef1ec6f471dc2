r"""q(g) for several classes: each q(g_n) is a Gaussian truncated to where its own class is the
largest.

The multinomial probit: y_n = argmax_c g_nc, g_c = f_c + N(0, 1), so that g_c ~ N(0, Q + I) for each
of L classes (Girolami & Rogers 2006). For a q that is factorised over rows only, the best factors
are Π_c N(g_c | a_nc, σ̃²_n), truncated to the cone where g_y is the largest, with σ̃² = 1/C_nn, C
= (Q + I)⁻¹, as with two classes. With the probability Z of the cone under that Gaussian
(numerics/largest.py), h = ∇ log Z with respect to a/σ̃, the mean ḡ = a + σ̃ h and the covariance
σ̃² V, the bound is

    Σ_n [log Z_n + ½ |h_n|²] - ½ Σ_c ḡ_cᵀCḡ_c                                            (cone)
      + (L - 1) (½ Σ_n log σ̃²_n - ½ log|Q + I| - ½ Σ_n κ_n).

**L - 1, not L.** Labels say nothing about Σ_c g_c, which is independent of all differences. In q
it would only lower the bound, by the cost of factorising N(0, Q + I) over rows. So q contains only
the differences: L - 1 functions like that of two classes. Their means add up to zero, as h does.
With L = 2 the difference divided by √2 *is* the g of two classes, and (cone) is (MF) with the same
kernel (not twice the variance, since the noise is doubled, too).

**Newton.** In ḡ, (cone) is concave with Hessian -(C ⊗ I + D), D_n = (V_n⁻¹ - I)/σ̃²_n, which
couples the classes of a row; the step in a is V⁻¹ times that in ḡ. It is found by conjugate
gradients; the preconditioner treats each class separately. D_n 1 = 0, and a term added to D_n
along 1 changes no step: D_n's average along other directions gives the smallest off-diagonal part.

**Derivatives** are those of E_q log N(g|0, Q + I) - ½ Σ κ for L functions, minus those for Σ_c
g_c/√L, which has mean zero and variance σ̃².

| symbol | name here  | shape |
|--------|------------|-------|
| a      | centre     | L×N   |
| h, V   | cone.*     | L×N, L×L×N |

Cost: L times that of two classes' Newton step.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float
from scipy.special import log_ndtr, ndtri_exp

from ..numerics.largest import in_cone
from ..numerics.linalg import inverse_of_each
from .natural_gradient import rounding
from .noisy_prior import NoisyPrior
from .truncated import SAMPLES, Truncated

_CONJUGATE_ACCURACY = 1e-3  # relative accuracy of a step: the next one corrects the rest
_MOST_CONJUGATE_STEPS = 200
# To sample the largest: number of nodes, and their range in standard deviations from its maximum.
_NODES, _FAR = 512, 7.0


class WhereOneLeads(NamedTuple):
    """g_y is the largest; `member` is True where c = y."""

    member: Bool[Array, "L N"]

    def look(self, prior: NoisyPrior, centre: Float[Array, "L N"]) -> Truncated:
        """(cone) at the given centres, and Newton's step."""
        from jax.scipy.sparse.linalg import cg  # slow to import

        spread = 1.0 / prior.own_precision
        sigma, n_free = jnp.sqrt(spread), len(centre) - 1
        centre = _differences(centre)
        cone = in_cone(self.member, centre / sigma)
        shift = _differences(cone.shift)  # true up to rounding
        mean = centre + sigma * shift
        times_C = jax.vmap(prior.precision_times)
        pull = times_C(mean)
        bound = (
            jnp.sum(cone.log_prob)
            + 0.5 * jnp.sum(jnp.square(shift))
            - 0.5 * jnp.vdot(mean, pull)
            + n_free * (0.5 * jnp.sum(jnp.log(spread)) - 0.5 * prior.log_det - prior.slack)
        )
        inverse = inverse_of_each(cone.covariance)
        D = (inverse - jnp.eye(len(centre), dtype=centre.dtype)[..., None]) / spread
        others = jnp.trace(D) / n_free  # D's average off 1
        D = D + others / len(centre)

        def hessian(x: Array) -> Array:
            return times_C(x) + jnp.einsum("cdn,dn->cn", D, x)

        slope = shift / sigma - pull
        step, _ = cg(
            hessian,
            slope,
            tol=_CONJUGATE_ACCURACY,
            maxiter=_MOST_CONJUGATE_STEPS,
            M=prior.solver(jnp.diagonal(D).T),
        )
        # The integral's last digits change with every step: stop when the predicted gain is smaller
        step = _differences(step)  # conjugate gradients are not exact
        promised = 0.5 * jnp.vdot(slope, step)
        step = jnp.where(promised > rounding(bound), step, 0.0)
        step = jnp.einsum("cdn,dn->cn", inverse, step)
        variance = spread * jnp.diagonal(cone.covariance).T
        return Truncated(centre, mean, variance, bound, step, jnp.asarray(False))

    def total(self, of_one: Callable[[Array, Array], Any], prior: NoisyPrior, found: Truncated):
        """The sum over classes, minus the value for their sum."""
        each = lax.map(lambda one: of_one(*one), (found.mean, found.variance))
        of_sum = of_one(jnp.zeros_like(prior.own_precision), 1.0 / prior.own_precision)
        return jax.tree.map(lambda some, one: jnp.sum(some, axis=0) - one, each, of_sum)

    def factors(self, centre, sigma, from_g) -> "Cones":
        return Cones(centre, sigma, self.member, from_g)


def _differences(x: Float[Array, "L N"]) -> Float[Array, "L N"]:
    """The functions without their common part."""
    return x - jnp.mean(x, axis=0)


class Cones(NamedTuple):
    """`Factors` of several classes."""

    centre: Float[Array, "L N"]
    sigma: Float[Array, " N"]
    member: Bool[Array, "L N"]
    from_g: Float[Array, "M N"]

    def sampled_means(self) -> Float[np.ndarray, "S L M"]:
        """First sample each row's largest g by its cdf at the nodes of its integral, then the
        others below it.

        With x = (largest - a_c)/σ̃ and u uniform, g_c is a_c + σ̃ Φ⁻¹(u Φ(x)), computed in
        logarithms as with two classes.
        """
        centre, sigma, from_g = (
            np.asarray(part, np.float64) for part in (self.centre, self.sigma, self.from_g)
        )
        member, generator = np.asarray(self.member), np.random.default_rng(0)
        t, shape = centre / sigma, (SAMPLES, len(sigma))
        uniform = generator.uniform(size=(len(sigma), SAMPLES))
        drawn = map(np.interp, uniform, *_distribution_of_largest(member, t))
        largest = np.column_stack(list(drawn))
        means = []
        for mine, own in zip(t, member, strict=True):
            log_uniform = -generator.exponential(size=shape)
            below = mine + ndtri_exp(log_uniform + log_ndtr(largest - mine))
            means.append((sigma * np.where(own, largest, below)) @ from_g.T)
        return np.stack(means, axis=1).astype(self.centre.dtype)


def _distribution_of_largest(
    member: Bool[np.ndarray, "L N"], t: Float[np.ndarray, "L N"]
) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, "N S"]]:
    """The cdf of g_y in the cone, and its nodes: the density is φ(s - t_y) Π Φ(s - t_c)."""
    own, highest = t[member.argmax(axis=0), np.arange(t.shape[1])], t.max(axis=0)
    ahead = math.sqrt(2.0 * math.log(len(t)))
    first = 0.5 * (own + highest) - _FAR
    last = np.maximum(own, highest + ahead) + _FAR
    s = np.linspace(first, last, _NODES, axis=1)
    log_density = np.zeros_like(s)
    for mine, is_own in zip(t, member, strict=True):
        x = s - mine[:, None]
        log_density += np.where(is_own[:, None], -0.5 * np.square(x), log_ndtr(x))
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    cumulated = np.cumsum(density[:, 1:] + density[:, :-1], axis=1)
    cumulated = np.concatenate([np.zeros_like(own)[:, None], cumulated], axis=1)
    return cumulated / cumulated[:, -1:], s
