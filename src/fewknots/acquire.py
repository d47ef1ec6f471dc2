r"""Which row to label or measure next: scores of rows for active learning and optimisation.

    from fewknots import acquire

    next_one = np.argmax(acquire.bald(classifier, pool))
    next_ten = acquire.select_batch(classifier, pool, 10)
    next_one = np.argmax(acquire.expected_improvement(regressor, candidates, best=y.max()))

**Classes.** The predictive entropy H[y] of a row is high where classes are equally probable, even
if labels are only noise there and nothing can be learned. The information that a label gives about
f is

    I(y; f) = H[y] - E H[y|f],                                                           (BALD)

Houlsby et al.'s (2011) score. Both terms are exact: one-dimensional integrals, for two classes and
for any number of them (`Likelihood.conditional_entropy`). Two posteriors for three or more classes
have no such integral: method="laplace", whose functions are correlated, and likelihood="probit";
there the average is over a few hundred nodes.

**Several rows at once.** The best single rows are often neighbours with the same information.
`select_batch` is greedy: it takes the best row, assumes that its label has been observed, and
scores the others again. The effect of a label on variances is nearly known before it is observed:
with a site of precision b, the expected curvature of its log probability, every covariance becomes

    C ← C - C_·i C_i· b / (1 + b C_ii).                                                 (seen)

Means do not change on average, and are kept. This approximates the chain rule of information,
I(y_1, y_2; f) = I(y_1; f) + I(y_2; f | y_1), and only needs the joint covariance of all rows.

**Numbers.** With f ~ N(μ, σ²) and z = (μ - best)/σ, the expected improvement over `best` is

    E max(f - best, 0) = σ (φ(z) + z Φ(z)) = σ Φ(z) (h(z) + z),     h = φ/Φ,                (EI)

where the last form is accurate for very small values, too. All of this is about the latent
function, without noise, in the units of y (if f has them).
"""

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from . import prediction
from .data.blocks import padded, rounded_up
from .likelihoods import Likelihood
from .numerics.normal import lower_tail
from .numerics.precision import compiled, computing_in, on_device

_WIDE = np.dtype(np.float64)

# --- classes --------------------------------------------------------------------------------------


def predictive_entropy(classifier: Any, X: Any) -> Float[np.ndarray, " N"]:
    """H[y] at each row, in nats.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, acquire
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> acquire.predictive_entropy(clf, X[:3]).round(2)
    array([0.02, 0.01, 0.13])
    """
    _check(classifier, "classes_", "a classifier")
    log_p = classifier.predict_log_proba(X)
    return -np.sum(np.exp(log_p) * log_p, axis=1)


def bald(classifier: Any, X: Any) -> Float[np.ndarray, " N"]:
    """I(y; f) at each row, in nats: the information of its label about the latent function.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, acquire
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> far = [[0.0, 3.0]]
    >>> bool(acquire.bald(clf, far)[0] > acquire.bald(clf, X).max())
    True
    """
    entropy = predictive_entropy(classifier, X)
    conditional = partial(prediction.conditional_entropy, classifier._likelihood)
    # Positive in exact arithmetic; quadrature error can make it negative.
    return np.maximum(entropy - classifier._together(X, conditional), 0.0)


def select_batch(classifier: Any, X: Any, size: int) -> Int[np.ndarray, " B"]:
    """The numbers of `size` rows of X to label together, the best one first.

    Works for methods with independent latent functions. Needs O(N²) memory, so pass a random part
    of a large pool.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, acquire
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> len(acquire.select_batch(clf, X, 5))
    5
    """
    _check(classifier, "classes_", "a classifier")
    means, covariance, *_ = classifier._together(X, _joint)
    if len(means) > 1 or covariance.ndim > 3:
        raise ValueError(
            "select_batch needs a Gaussian posterior that is independent between latent functions, "
            f"which method={classifier.method_!r} does not give here. bald(classifier, X) scores "
            "rows one by one."
        )
    n_rows, likelihood = means.shape[-1], classifier._likelihood
    if not 1 <= size <= n_rows:
        raise ValueError(f"size must be between 1 and the {n_rows} rows of X, got {size}.")
    mean, covariance = means[0], covariance.copy()
    variance = np.einsum("lnn->ln", covariance)  # follows the covariance
    chosen: list[int] = []
    with on_device(classifier.device), computing_in(_WIDE):
        whole = rounded_up(n_rows)
        for _ in range(size):
            latent = [padded(values.T, whole).T for values in (mean, variance)]
            score = np.array(_information(likelihood, *latent))[:n_rows]
            score[chosen] = -np.inf
            best = int(np.argmax(score))
            chosen.append(best)
            at_best = mean[:, [best]], variance[:, [best]]
            b = np.asarray(_expected_precision(likelihood, *at_best))[:, 0]
            for C, precision in zip(covariance, b, strict=True):
                C[:] = once_seen(C, best, float(precision))
    return np.array(chosen)


def once_seen(
    covariance: Float[np.ndarray, "N N"], row: int, precision: float
) -> Float[np.ndarray, "N N"]:
    """Eq. (seen).

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import acquire
    >>> covariance = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> acquire.once_seen(covariance, row=0, precision=1.0)
    array([[0.5  , 0.25 ],
           [0.25 , 0.875]])
    """
    column = covariance[:, row]
    share = precision / (1.0 + precision * column[row])
    found = covariance - np.outer(column, share * column)
    np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))  # below zero is rounding
    return found


def _joint(posterior, standardiser, rows):
    return prediction.joint_posterior(posterior).joint(standardiser(rows))


@compiled
def _information(likelihood: Likelihood, mean: Any, variance: Any) -> Any:
    log_p = jnp.stack(likelihood.log_probabilities(mean, variance))
    entropy = -jnp.sum(jnp.exp(log_p) * log_p, axis=0)
    return entropy - likelihood.conditional_entropy(mean, variance)


@compiled
def _expected_precision(likelihood: Likelihood, mean: Any, variance: Any) -> Any:
    """The b of eq. (seen), averaged over the possible labels of the row."""
    each = likelihood.log_probabilities(mean, variance)
    total = jnp.zeros_like(mean)
    for code, log_p in enumerate(each):
        y = jnp.asarray(likelihood.encoded(np.array([code])))
        total = total + jnp.exp(log_p) * likelihood.expectations(y, mean, variance).curvature
    return total


# --- numbers --------------------------------------------------------------------------------------


def expected_improvement(
    regressor: Any, X: Any, best: float, *, maximize: bool = True, log: bool = False
) -> Float[np.ndarray, " N"]:
    """E max(f - best, 0) at each row; or E max(best - f, 0), to search for small values.

    best : the value to improve on. With noise, the best predicted mean among the training rows is a
        better choice than the best y.
    log : return the logarithm, which does not underflow.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import GPRegressor, acquire
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> reg = GPRegressor("rbf", warp=None, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> candidates = np.linspace(0.0, 9.0, 10)[:, None]
    >>> int(acquire.expected_improvement(reg, candidates, best=1.0).argmax())
    8
    """
    mean, deviation = _moments(regressor, X)
    ahead = (mean - best) if maximize else (best - mean)
    with np.errstate(over="ignore"):
        z = ahead / deviation
    certain = np.isinf(z)  # variance close to zero
    with computing_in(_WIDE):
        z = padded(np.where(certain, 0.0, z), rounded_up(len(z)))
        found = np.asarray(_log_gain(z))[: len(mean)] + np.log(deviation)
    with np.errstate(divide="ignore"):
        found = np.where(certain, np.log(np.maximum(ahead, 0.0)), found)
    return found if log else np.exp(found)


@compiled
def _log_gain(z: Any) -> Any:
    """Log (φ(z) + z Φ(z))."""
    tail = lower_tail(z)
    return tail.log_cdf + jnp.log(tail.excess)


def probability_of_feasibility(
    regressor: Any, X: Any, *, below: float = np.inf, above: float = -np.inf
) -> Float[np.ndarray, " N"]:
    """P(above < f < below) at each row. (If the constraint is a label, use `predict_proba`.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import GPRegressor, acquire
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> reg = GPRegressor("rbf", warp=None, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> acquire.probability_of_feasibility(reg, X[:3], above=-0.5).round(2)
    array([1., 1., 1.])
    """
    if not above < below:
        raise ValueError(f"above={above:g} must be less than below={below:g}.")
    mean, deviation = _moments(regressor, X)
    with np.errstate(over="ignore"):
        low, high = (above - mean) / deviation, (below - mean) / deviation
    # Computed in the smaller tail, where differences are accurate.
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    return ndtr(high) - ndtr(low)


def thompson(
    regressor: Any, X: Any, size: int = 1, random_state: Any = None, *, maximize: bool = True
) -> Int[np.ndarray, " size"]:
    """Thompson sampling: the best row of X in each of `size` joint samples of f; rows may repeat.

    With many rows, or if X is not a list of rows, use `sample_functions` and optimise each draw.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import GPRegressor, acquire
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> reg = GPRegressor("rbf", warp=None, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> X[acquire.thompson(reg, X, 3, random_state=0)].ravel().round(1)  # near π/2
    array([1.7, 1.7, 1.7])
    """
    _check(regressor, "likelihood_", "a regressor")
    samples = regressor.sample_latent(X, size, random_state)
    return np.argmax(samples if maximize else -samples, axis=0)


def _moments(regressor: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    _check(regressor, "likelihood_", "a regressor")
    mean, variance = regressor.predict_latent(X)
    if mean.ndim > 1:
        raise ValueError("this function is for regressors with a single latent function.")
    return mean, np.maximum(np.sqrt(variance), np.finfo(np.float64).tiny)


def _check(model: Any, attribute: str, kind: str) -> None:
    check_is_fitted(model)
    if not hasattr(model, attribute):
        raise TypeError(f"this function is for {kind}, but got a {type(model).__name__}.")
