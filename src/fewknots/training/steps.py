r"""The compiled part of stochastic training: hundreds of steps on minibatches in one loop.

The bound's data term (eq. klsparse) is a sum over rows, so a batch of B rows times N/B estimates
it, and its derivatives, without bias. Two rules use them.

**Natural gradients** (the default). q(v) = N(m, S) is stored as its natural parameters Λ = S⁻¹ and
λ = S⁻¹m, for which a natural-gradient step of rate ρ is a weighted average (section 4's
derivatives, as in sparse_kl.py):

    Λ ← (1-ρ) Λ + ρ (Λ₀ + (N/B) Aᵀ diag(wβ) A),
    λ ← (1-ρ) λ + ρ (λ₀ + (N/B) Aᵀ (wα + wβ μ)).                                       (step)

Kernel and Z take an Adam step with the same estimate of the bound. In whitened coordinates q
remains meaningful while they change.

If log p is not concave, Λ̂, the term in brackets above, may not be positive definite for a batch.
Then Λ moves, with D = ρ(Λ̂ - Λ), to

    Λ + D + ½ D Λ⁻¹ D = ½ (Λ + (Λ + D) Λ⁻¹ (Λ + D)),                                   (curve)

which is positive definite for every D, has the same fixed points, and differs from (step) in second
order (Lin, Schmidt & Khan 2020). λ is chosen so that m still takes its step,
m ← m + Λ'⁻¹ ρ(λ̂ - Λ̂ m).

**One optimiser for everything**, Adam or Adadelta as in the paper's section 5: q is stored as m
and the triangle T of S = T Tᵀ.

**The tighter bound** (inference/tight.py) has a variance v for the part of f that the inducing
points do not explain. 1/v is a natural parameter like Λ, and takes the same step:

    1/v ← (1-ρ)/v + ρ (1 + average of wβκ).                                           (step of v)

(Λ₀, λ₀) are the natural parameters of the distribution in the KL term (`Base`): the prior, I and
0, or the posterior of earlier rows in `partial_fit`.

| symbol   | name here                       | shape  |
|----------|---------------------------------|--------|
| Λ, λ     | Naturals.precision, .linear     | L×M×M, L×M |
| m, T     | Triangle.mean, .lower           | L×M, L×M×M |
| ρ        | rates.natural                   |        |
| N/B      | scale                           | by weights: total weight over the batch's |
| AᵀdiagβA | information                     | L×M×M  |
| 1/v      | TrainState.rest                 | L×1    |

Λ has eigenvalues from 1 to about N. If N times float32's rounding error is not small compared with
1, `Naturals` are float64, and so is the product that updates them (`precision_dtype`); all else is
unchanged. The features and that product are computed in full precision, since Cholesky factors
depend on them; the rest of a step only affects its direction (`rough_products`). The sums over a
batch are in row_sums.py.

Cost of a step: four products over the batch, 8 B M² flops, about 12 M³, and the kernel's BMD.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int

from ..inference.features import project, whiten
from ..inference.method import HeldByPoints
from ..inference.sites import Rows, WhitenedGaussian
from ..inference.sparse_kl import look
from ..inference.tight import rest_of
from ..numerics.arrays import AnyArray
from ..numerics.linalg import precision_factor, times
from ..numerics.precision import compiled, rough_products
from .parameters import Model, Named, add_prior, decode, put_back
from .row_sums import RowSums, model_gradient, row_sums, shared_row_sums

STOCHASTIC = ("natural_gradient", "adam", "adadelta")
_MOST_WEIGHT_FLOAT32 = 2e6
_FEW_INPUTS = 2


class Naturals(NamedTuple):
    """q(v) by its natural parameters Λ = S⁻¹, λ = S⁻¹m."""

    precision: Float[AnyArray, "L M M"]
    linear: Float[AnyArray, "L M"]


class Triangle(NamedTuple):
    """q(v) = N(mean, lower lowerᵀ)."""

    mean: Float[AnyArray, "L M"]
    lower: Float[AnyArray, "L M M"]


class Base(NamedTuple):
    """The second distribution of the KL term, N(m₀, Λ₀⁻¹): its natural parameters, and m₀ᵀλ₀ -
    log|Λ₀|.

    The constant is summed over latent functions.
    """

    naturals: Naturals
    constant: Float[AnyArray, ""]


class TrainState(NamedTuple):
    """Everything that changes from step to step."""

    free: Named  # kernel and Z, as the optimiser's free parameters
    moments: Any  # the optimiser's state
    q: Naturals | Triangle
    rest: Float[AnyArray, "L 1"] | None = None  # for the tighter bound


class Rates(NamedTuple):
    """The rates of each step of a chunk."""

    natural: Float[AnyArray, " steps"]
    gradient: Float[AnyArray, " steps"]


def precision_dtype(total_weight: float, dtype: np.dtype) -> np.dtype:
    """The dtype for Λ: its rounding error grows with the weight of the data."""
    return np.dtype(np.float64) if total_weight > _MOST_WEIGHT_FLOAT32 else np.dtype(dtype)


def prior_base(n_inducing: int, dtype: np.dtype, n_latent: int = 1) -> Base:
    """N(0, I)."""
    precision = np.tile(np.eye(n_inducing, dtype=dtype), (n_latent, 1, 1))
    return Base(Naturals(precision, np.zeros((n_latent, n_inducing), dtype)), np.zeros((), dtype))


def base_of(naturals: Naturals) -> Base:
    """An earlier posterior as the base of the next."""
    lower = np.linalg.cholesky(naturals.precision)
    whitened = np.linalg.solve(lower, naturals.linear[..., None])
    diagonal = np.diagonal(lower, axis1=1, axis2=2)
    constant = np.vdot(whitened, whitened) - 2.0 * np.sum(np.log(diagonal))
    return Base(naturals, np.asarray(constant, lower.dtype))


@cache
def _optimiser(name: str) -> Any:
    """Steps of size 1, for `run_chunk` to scale."""
    import optax  # imported here: slow, and not needed in full batch

    match name:
        case "natural_gradient":
            return optax.adam(1.0, b2=0.99)  # gradients soon change their scale with q
        case "adadelta":
            return optax.adadelta(1.0, rho=0.9, eps=1e-4)  # the paper's library's offset
    return optax.adam(1.0)


def start_state(
    optimizer: str, free: Named, q: Naturals, dtype: np.dtype, bound: str = "standard"
) -> TrainState:
    """The optimiser's initial state, and q in the form that it uses."""
    if optimizer == "natural_gradient":
        rest = np.ones((len(q.linear), 1), q.linear.dtype) if bound == "tight" else None
        return TrainState(free, _optimiser(optimizer).init(free), q, rest)
    mean = np.linalg.solve(q.precision, q.linear[..., None])[..., 0].astype(dtype)
    lower = np.linalg.cholesky(np.linalg.inv(q.precision)).astype(dtype)
    triangle = Triangle(mean, lower)
    return TrainState(free, _optimiser(optimizer).init((free, triangle)), triangle)


def gaussian(q: Naturals | Triangle, dtype) -> WhitenedGaussian:
    """Mean of q and a factor of its covariance."""
    if isinstance(q, Triangle):
        diagonal = jnp.diagonal(q.lower, axis1=1, axis2=2)
        return WhitenedGaussian(q.mean, q.lower.mT, 2.0 * jnp.sum(jnp.log(jnp.abs(diagonal))))
    factor, log_det_precision = precision_factor(q.precision)
    mean = times(factor.mT, times(factor, q.linear))
    return WhitenedGaussian(*(x.astype(dtype) for x in (mean, factor, -log_det_precision)))


def _held(state: TrainState, dtype) -> WhitenedGaussian:
    """The same for a state, with v of the tighter bound."""
    q = gaussian(state.q, dtype)
    return q if state.rest is None else q._replace(shrink=(1.0 / state.rest).astype(dtype))


def naturals_of(q: Naturals | Triangle) -> Naturals:
    """The natural parameters of q, in whatever form it is stored."""
    if isinstance(q, Naturals):
        return q
    precision = np.linalg.inv(q.lower @ q.lower.mT)
    return Naturals(precision, (precision @ q.mean[..., None])[..., 0])


@partial(compiled, static_argnums=(0, 10))
def run_chunk(
    optimizer: str,
    state: TrainState,
    frozen: Named,
    base: Base,
    rows: Rows,
    chosen: Int[AnyArray, "steps B"],
    rates: Rates,
    count: Int[AnyArray, ""] | int,
    total_weight: Float[AnyArray, ""] | float,
    jitter: Float[AnyArray, ""] | float,
    devices: Mesh | None = None,
) -> tuple[TrainState, Float[Array, ""], Bool[Array, ""]]:
    """The first `count` steps of a chunk; the average of their bounds; whether all is finite.

    The chunk may be longer, so that one compiled loop is enough for shorter ones, too.

    devices : the rows of each batch are split between them
    """
    wide = base.naturals.precision.dtype

    def sums_of(here: _Standpoint, chosen: Array) -> RowSums:
        # a batch's noise is much larger than the rounding errors
        model = here.whitening, here.model.likelihood, here.q
        if devices is not None:
            return shared_row_sums(devices, *model, rows, chosen, wide, rough=True)
        batch = Rows(rows.X[chosen], rows.y[chosen], rows.weights[chosen])
        return row_sums(*model, batch, wide, rough=True)

    def step(i, carry):
        state, total = carry
        rate = Rates(*(rate[i] for rate in rates))
        here = _standpoint(state, frozen, jitter, rows.y.dtype)
        sums = sums_of(here, chosen[i])
        new, bound = _moved_by(optimizer, state, frozen, here, base, sums, rate, total_weight)
        return new, total + bound.astype(wide)

    rates = Rates(*map(jnp.asarray, rates))
    state, total = jax.lax.fori_loop(0, count, step, (state, jnp.zeros((), wide)))
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((state, total))]
    return state, total / count, jnp.all(jnp.stack(finite))


class _Standpoint(NamedTuple):
    """Everything that a step computes before it uses rows."""

    model: Model
    pullback: Any  # from the model's gradient to that of the free parameters
    whitening: Any
    q: WhitenedGaussian


def _standpoint(state: TrainState, frozen: Named, jitter, dtype) -> _Standpoint:
    model, pullback = jax.vjp(lambda free: decode(free, frozen), state.free)
    assert model.Z is not None
    whitening = whiten(model.kernel, model.Z, jitter)
    return _Standpoint(model, pullback, whitening, _held(state, dtype))


def _moved_by(
    optimizer: str,
    state: TrainState,
    frozen: Named,
    here: _Standpoint,
    base: Base,
    sums: RowSums,
    rate,
    total_weight,
) -> tuple[TrainState, Float[Array, ""]]:
    """The state after a step, and the batch's estimate of the bound before it."""
    # A batch with held-out rows only would give 0 times N/0: it must have no effect.
    scale = total_weight / jnp.maximum(sums.weight, 1e-30)
    with rough_products():
        d_kernel, d_points = model_gradient(here.whitening, here.q, sums)
    (d_free,) = here.pullback(Model(d_kernel, d_points, sums.d_likelihood))
    d_free, _ = add_prior(d_free, state.free, frozen, 1.0 / scale)
    update = _natural_step if optimizer == "natural_gradient" else _gradient_step
    towards = target(base, sums, scale)
    if isinstance(state.q, Naturals) and not here.model.likelihood.log_concave:
        towards = on_the_curve(state.q, towards, rate.natural, here.q)
    new = update(optimizer, state, d_free, scale, towards, rate)
    if state.rest is not None and sums.unexplained is not None:
        rest = rest_of(sums.unexplained, sums.n_counted).astype(state.rest.dtype)
        new = new._replace(rest=state.rest + rate.natural * (rest - state.rest))
    new = new._replace(free=put_back(new.free, frozen))
    return new, scale * sums.log_prob - divergence(here.q, base)


@partial(compiled, static_argnums=0)
def step_from_sums(
    optimizer: str,
    state: TrainState,
    frozen: Named,
    base: Base,
    sums: RowSums,
    rate: Rates,
    total_weight: Float[AnyArray, ""] | float,
    jitter: Float[AnyArray, ""] | float,
) -> tuple[TrainState, Float[Array, ""]]:
    """One step from sums that were computed elsewhere (held_rows.py)."""
    here = _standpoint(state, frozen, jitter, base.naturals.linear.dtype)
    return _moved_by(optimizer, state, frozen, here, base, sums, rate, total_weight)


def target(base: Base, sums: RowSums, scale) -> Naturals:
    """The target of (step): the result for ρ = 1."""
    return Naturals(
        base.naturals.precision + scale * sums.information,
        base.naturals.linear + scale * sums.linear,
    )


def on_the_curve(old: Naturals, towards: Naturals, rate, q: WhitenedGaussian) -> Naturals:
    """The target with which (step) gives the result of (curve)."""
    wide = old.precision.dtype
    moved = rate * (towards.precision - old.precision)
    half = q.factor.astype(wide) @ moved
    curved = 0.5 * (half.mT @ half) / rate
    mean = q.mean.astype(wide)
    return Naturals(towards.precision + curved, towards.linear + times(curved, mean))


def _natural_step(
    optimizer, state: TrainState, d_free, scale, towards: Naturals, rate
) -> TrainState:
    """(step), and Adam for the rest, which does not depend on the scale of the gradient."""
    updates, moments = _optimiser(optimizer).update(d_free, state.moments)
    free = _moved(state.free, updates, rate.gradient)
    q = jax.tree.map(lambda old, new: old + rate.natural * (new - old), state.q, towards)
    return TrainState(free, moments, q)


def _moved(free: Named, updates: Named, rate) -> Named:
    """Adam moves every coordinate by its rate, and so a point with D inputs by √D times the
    rate.
    """
    rates = dict.fromkeys(free, rate)
    if "Z" in free:
        rates["Z"] = rate * min(1.0, (_FEW_INPUTS / free["Z"].shape[1]) ** 0.5)
    return {
        name: jax.tree.map(lambda p, u, name=name: p - rates[name] * u, free[name], updates[name])
        for name in free
    }


def _gradient_step(
    optimizer, state: TrainState, d_free, scale, towards: Naturals, rate
) -> TrainState:
    """With S = TTᵀ, ∂/∂m = (towards.linear) - (towards.precision) m and
    ∂/∂T = tril(-(towards.precision) T + T⁻ᵀ), whose last term is 1/diag(T) on that triangle.
    """
    mean, lower = state.q
    precision, linear = (x.astype(mean.dtype) for x in towards)
    d_mean = linear - times(precision, mean)
    d_lower = jnp.tril(-precision @ lower) + inverse_diagonal(lower)
    d_free = jax.tree.map(lambda slope: scale * slope, d_free)
    updates, moments = _optimiser(optimizer).update(
        (d_free, Triangle(d_mean, d_lower)), state.moments, (state.free, state.q)
    )
    free = _moved(state.free, updates[0], rate.gradient)
    q = jax.tree.map(lambda p, u: p - rate.gradient * u, state.q, updates[1])
    return TrainState(free, moments, q)


def inverse_diagonal(lower: Float[Array, "L M M"]) -> Float[Array, "L M M"]:
    """T⁻ᵀ on the lower triangle of T: 1/diag(T)."""
    diagonal = jnp.diagonal(lower, axis1=1, axis2=2)
    return jnp.eye(lower.shape[1], dtype=lower.dtype) / diagonal[:, :, None]


def divergence(q: WhitenedGaussian, base: Base) -> Float[Array, ""]:
    """KL[q(v) ‖ base] = ½(tr Λ₀S + mᵀΛ₀m - 2mᵀλ₀ + m₀ᵀλ₀ - log|Λ₀| - M - log|S|)."""
    precision, linear = (x.astype(q.mean.dtype) for x in base.naturals)
    trace = jnp.sum(precision * (q.factor.mT @ q.factor))  # in a step S is already known
    square = jnp.vdot(q.mean, times(precision, q.mean) - 2.0 * linear)
    constant = base.constant.astype(q.mean.dtype)
    return 0.5 * (trace + square + constant - q.mean.size - q.log_det)


class Evaluation(NamedTuple):
    """Scores of the current state on some rows; for blocks of rows, the first two are added."""

    data_term: Float[Array, ""]  # of the bound
    log_prob: Float[Array, ""]  # Σ w log E[p(y|f)], of predictions; 0 if not requested
    divergence: Float[Array, ""]
    model: Model
    held: HeldByPoints
    jitter: Float[Array, ""]
    factorised: Bool[Array, ""]


@partial(compiled, static_argnums=0)
def score(
    predicts: bool, state: TrainState, frozen: Named, base: Base, rows: Rows, jitter: Any
) -> Evaluation:
    """The bound and, if requested, the predictions' log probability at the current parameters.

    Without derivatives, so it compiles quickly.
    """
    model = decode(state.free, frozen)
    features, _ = project(model.kernel, model.Z, rows.X, jitter)
    q = _held(state, features.explained.dtype)
    terms = look(features, q, model.likelihood, rows).terms
    log_prob = jnp.zeros((), terms.log_prob.dtype)
    if predicts:
        mean, variance, *_ = look(features, q._replace(shrink=None), model.likelihood, rows)
        tilted = model.likelihood.tilted(jnp.asarray(rows.y), mean, variance)
        log_prob = rows.weights @ tilted.log_prob
    return Evaluation(
        jnp.sum(terms.log_prob),
        log_prob,
        divergence(q, base),
        model,
        HeldByPoints(features.whitener, q),
        features.jitter,
        features.ok,
    )
