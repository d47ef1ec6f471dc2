r"""Leave-one-out predictive densities, log p(y_n | all other rows), without another fit.

Most methods hold their posterior as a prior times a Gaussian site exp(g f - ½ b f²) for each row
(inference/sites.py). Leaving row n out means removing its site. With the marginal N(μ, ρ) of the
value that the site acts on, and α = g - bμ,

    ρ₋ = ρ / (1 - bρ),   μ₋ = μ - ρ₋ α,   log p(y_n | others) = log E p(y_n|f),  f ~ N(μ₋, ρ₋ + κ).

Kernel, inducing points and the other sites do not change. With Gaussian noise the sites do not
depend on each other, and this is exact (Sundararajan & Keerthi 2001). With other likelihoods it is
the approximation of Opper & Winther 2000; Vehtari et al. 2016 compared it with new fits.

The sites are not stored: they are computed from the marginals at the rows of the fit.

| rule        | methods                                 | α, b                                     |
|-------------|-----------------------------------------|------------------------------------------|
| variational | full_kl, exact; sparse_kl, titsias, svi | E (log p)', -E (log p)'' under N(μ, σ²)  |
| mode        | laplace                                 | (log p)', -(log p)'' at μ                |
| EP's        | ep, fitc_ep                             | from log Ẑ under N(μ₋, ρ₋), by iteration |

Sparse variational sites act on the part of f that inducing points explain: ρ = σ² - κ, where κ is
the variance of the rest. (With `bound="tight"` and a likelihood other than Gaussian noise, they
belong to slightly smaller variances, inference/tight.py; this is ignored here.) In other methods ρ
= σ², κ = 0. A row of weight w has w equal sites, which are all removed.

`local` has no sites to remove: each row is predicted anew from its neighbours without itself, as
in training, which is exact at the learned kernel.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from .exceptions import DataError, NumericalError
from .inference.sites import Rows
from .likelihoods import Likelihood
from .numerics.precision import compiled, computing_in
from .posterior import GaussianPosterior, Posterior

_SWEEPS, _STEP, _CLOSE = 300, 0.5, 1e-8
_WIDE = np.dtype(np.float64)


def log_densities(
    method: str, likelihood: Likelihood, posterior: Posterior, rows: Rows
) -> Float[np.ndarray, " N"]:
    """Log densities of the rows of the fit, in its units."""
    if isinstance(posterior, PredictsWithoutItself):
        return _of_neighbourhoods(likelihood, posterior, rows)
    if method not in _RULES or not isinstance(posterior, GaussianPosterior):
        raise ValueError(
            f"leave_one_out is for methods with a Gaussian site for each row, {', '.join(_RULES)}, "
            f"and for 'local'; this fit's method {method!r} has no such sites."
        )
    X, y, weights = (np.asarray(part, np.float64) for part in rows)
    mean, variance = (part.astype(np.float64) for part in posterior.marginals(X))
    unexplained = np.zeros_like(variance)
    if method in _SPARSE:
        nothing_else = replace(posterior, shrink=np.ones_like(posterior.shrink))
        unexplained = nothing_else.marginals(X)[1].astype(np.float64)
    reached = np.maximum(variance - unexplained, 0.0)  # below zero is rounding
    with computing_in(_WIDE):
        found = _RULES[method](likelihood, jnp.asarray(y), mean, variance)
        slope, precision, off = (np.asarray(part) for part in found)
        if np.max(off) > _CLOSE:
            row = int(np.argmax(off))
            raise NumericalError(
                f"the site of row {row} could not be computed. Fit with a smaller tol, or check "
                "that X and "
                "y are the rows of the fit."
            )
        left = 1.0 - weights * precision * reached
        if np.any(left <= 0):
            row = int(np.argmax((left <= 0).any(axis=0)))
            raise DataError(
                f"row {row} of X and y does not match the posterior: leave_one_out takes the rows "
                "of the fit, and this is not one of them, or the fit ended early."
            )
        without = reached / left
        cavity = mean - without * weights * slope
        return np.asarray(_log_density(likelihood, y, cavity, without + unexplained))


@runtime_checkable
class PredictsWithoutItself(Protocol):
    """A posterior that is made anew for each row, so that the row can be left out."""

    def without_itself(
        self, rows: Rows
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance at each row of the fit."""
        ...


def _of_neighbourhoods(
    likelihood: Likelihood, posterior: PredictsWithoutItself, rows: Rows
) -> Float[np.ndarray, " N"]:
    """Exact; a row of weight zero is in no neighbourhood."""
    counted = np.asarray(rows.weights) > 0
    if not counted.all():
        row = int(np.argmin(counted))
        raise DataError(
            f"row {row} has weight 0, and the fit has forgotten it: predict_log_density or "
            "predict_log_proba are for such rows. Leave them out here."
        )
    mean, variance = (part.astype(np.float64) for part in posterior.without_itself(rows))
    with computing_in(_WIDE):
        y = jnp.asarray(np.asarray(rows.y, np.float64))
        return np.asarray(_log_density(likelihood, y, mean, variance))


@compiled
def _log_density(likelihood: Likelihood, y: Any, mean: Any, variance: Any) -> Any:
    return likelihood.tilted(y, mean, variance).log_prob


@compiled
def _variational(likelihood: Likelihood, y: Any, mean: Any, variance: Any) -> Any:
    found = likelihood.expectations(y, mean, variance)
    return found.slope, found.curvature, jnp.zeros_like(y)


@compiled
def _mode(likelihood: Likelihood, y: Any, mean: Any, variance: Any) -> Any:
    found = likelihood.at(y, mean)
    return found.slope, found.curvature, jnp.zeros_like(y)


@compiled
def _ep(likelihood: Likelihood, y: Any, mean: Any, variance: Any) -> Any:
    """The cavity whose tilted distribution has these marginals, for weight 1."""

    def site(cavity):
        found = likelihood.tilted(y, *cavity)
        return found.slope, found.curvature / (1.0 - cavity[1] * found.curvature)

    def sweep(_, cavity):
        slope, precision = site(cavity)
        # A cavity must be narrower than the prior: otherwise go half of the way.
        left = jnp.maximum(1.0 - precision * variance, 0.5 * variance / cavity[1])
        target = mean - cavity[1] * slope, variance / left
        return tuple(old + _STEP * (new - old) for old, new in zip(cavity, target, strict=True))

    cavity = lax.fori_loop(0, _SWEEPS, sweep, (mean, variance))
    slope, precision = site(cavity)
    scale = jnp.sqrt(variance)
    off = jnp.abs(mean - cavity[1] * slope - cavity[0]) / scale
    off = off + jnp.abs((1.0 / variance - precision) * cavity[1] - 1.0)
    return slope, precision, jnp.max(off, axis=0)


_SPARSE = ("sparse_kl", "titsias", "svi")
_RULES: dict[str, Callable[..., Any]] = {
    "full_kl": _variational,
    "exact": _variational,
    **dict.fromkeys(_SPARSE, _variational),
    "laplace": _mode,
    "ep": _ep,
    "fitc_ep": _ep,
}
