"""GPClassifier: the scikit-learn face. No mathematics here, only order and manners."""

import warnings
from os import PathLike
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .. import inducing, model_file, prediction
from ..data.blocks import padded, rounded_up
from ..data.merge import merge_equal_rows
from ..data.standardise import Standardiser
from ..data.tables import check_magnitude, warn_of_constant_columns, with_numeric_columns
from ..exceptions import NumericalWarning
from ..inference.sparse_kl import Rows
from ..kernels import as_kernel
from ..likelihoods import LINKS, Bernoulli
from ..optimize.lbfgsb import Status
from ..precision import computing_in, resolve_dtype
from ..progress import Reporter
from ..training.full_batch import Fitted, Problem, fit_collapsed, fit_jointly
from .parameters import number, one_of, switch, whole_number
from .training_data import row_weights, starting_points, two_classes

METHODS = ("sparse_kl",)
OPTIMIZERS = {"auto": fit_collapsed, "collapsed": fit_collapsed, "lbfgs": fit_jointly}


class GPClassifier(ClassifierMixin, BaseEstimator):
    """Gaussian process classifier for two classes, held by a few inducing points.

    The posterior over the latent function is summarised at M inducing points and fitted by
    maximising a lower bound on the evidence (Hensman, Matthews & Ghahramani 2015, section 4).
    Kernel parameters and the places of the inducing points are learned on the way.

    Parameters
    ----------
    kernel : kernel or str, default "rbf"
        A kernel from `fewknots.kernels`, or names such as "matern32" or "matern32 + linear".
        It sees the inputs standardised (see `standardize`). Parameters given are where learning
        starts, or what is used if `learn_kernel=False`.
    ard : bool, default True
        One lengthscale per input. False: one for all inputs, in every part of the kernel; a
        single part can choose for itself, as in `RBF(ard=False)`.
    likelihood : {"probit", "logit"}, default "probit"
        The link between latent function and probability.
    method : {"sparse_kl"}, default "sparse_kl"
        The inference method.
    n_inducing : int or "auto", default "auto"
        How many inducing points. "auto" grows with the cube root of the number of distinct rows.
    inducing_points : array of shape (M, n_features), default None
        Where the inducing points start, in the units of X; overrides `n_inducing`.
    inducing_init : {"kmeans", "greedy", "random"}, default "kmeans"
        How to choose them otherwise: cluster centres, rows of greatest conditional variance, or
        rows at random.
    learn_kernel, learn_inducing : bool, default True
        Whether kernel parameters and inducing points move. With both False only q(u) is fitted.
    optimizer : {"auto", "collapsed", "lbfgs"}, default "auto"
        "collapsed" (what "auto" means): natural gradients for q(u) inside, L-BFGS-B for the rest
        outside. "lbfgs": L-BFGS-B over everything at once, as in the paper; slower.
    max_iter : int, default 1000
        Most iterations of L-BFGS-B.
    tol : float, default 1e-5
        Stop when ten iterations raise the bound by less than this many nats per row.
    standardize : bool, default True
        Bring every input to mean 0 and standard deviation 1 first (with the training rows'
        values, at prediction too).
    class_weight : dict, "balanced" or None, default None
        Weights multiplied onto each row's log likelihood by its class.
    jitter : float, default 1e-6
        Added to the diagonal of the inducing points' covariance, times the kernel's variance.
    dtype : {"float32", "float64"} or None, default None
        What to compute in. None: float64 on a CPU, float32 on a GPU.
    random_state : int, RandomState or None, default None
        For choosing inducing points.
    verbose : int, default 0
        1 shows progress on the terminal.
    callback : callable or None, default None
        Called after each iteration with a `fewknots.Progress` (iteration, seconds, bound); if it
        returns True, the fit stops there.

    Attributes
    ----------
    classes_ : array of shape (2,)
    n_features_in_ : int
    feature_names_in_ : array of str, if X had column names
    kernel_ : kernel with its learned parameters, in units of the standardised inputs
    inducing_points_ : array of shape (M, n_features), in the units of X
    posterior_ : the belief about the latent function
    log_evidence_ : float, the lower bound on the log evidence
    evidence_gradient_ : its derivatives: `.kernel` for the logarithm of every kernel parameter,
        `.inducing_points` for every coordinate, in the units of X (not kept by `save`)
    n_iter_ : int
    converged_ : bool
    history_ : dict of arrays "iteration", "seconds", "bound"

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = GPClassifier(n_inducing=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        ard=True,
        likelihood="probit",
        method="sparse_kl",
        n_inducing="auto",
        inducing_points=None,
        inducing_init="kmeans",
        learn_kernel=True,
        learn_inducing=True,
        optimizer="auto",
        max_iter=1000,
        tol=1e-5,
        standardize=True,
        class_weight=None,
        jitter=1e-6,
        dtype=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.method = method
        self.n_inducing = n_inducing
        self.inducing_points = inducing_points
        self.inducing_init = inducing_init
        self.learn_kernel = learn_kernel
        self.learn_inducing = learn_inducing
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.class_weight = class_weight
        self.jitter = jitter
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # --- fitting ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GPClassifier":
        """Fit to rows X (array or table) with labels y (any two values).

        sample_weight : array of shape (n_rows,), optional
            Multiplies each row's log likelihood; a weight of 2 equals the row given twice.
        """
        before = self.__dict__.copy()
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:
            # Whatever went wrong, an estimator that was fitted before still works.
            self.__dict__ = before
            raise

    def _fit(self, X, y, sample_weight) -> "GPClassifier":
        self._check_parameters()
        dtype = resolve_dtype(self.dtype)
        X, y = validate_data(self, with_numeric_columns(X), y, dtype=np.float64, y_numeric=False)
        names = getattr(self, "feature_names_in_", None)
        check_magnitude(X, names)
        classes = two_classes(column_or_1d(y, warn=True))
        weights = row_weights(sample_weight, self.class_weight, X, classes)
        X, signs, weights = merge_equal_rows(X, classes.signs, weights)
        warn_of_constant_columns(X, names)
        self.classes_ = classes.labels
        self._likelihood = Bernoulli(self.likelihood)
        self._standardiser = (
            Standardiser.fitted(X, weights)
            if self.standardize
            else Standardiser.identity(X.shape[1])
        )
        problem = self._problem(self._standardiser(X), signs, weights, dtype)
        with computing_in(dtype), Reporter(self.callback, self.verbose, self.max_iter) as reporter:
            fitted = OPTIMIZERS[self.optimizer](problem, reporter)
        self._keep(fitted, reporter)
        return self

    def _check_parameters(self) -> None:
        one_of("likelihood", self.likelihood, LINKS)
        one_of("method", self.method, METHODS)
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        one_of("inducing_init", self.inducing_init, inducing.METHODS)
        if not (isinstance(self.n_inducing, str) and self.n_inducing == "auto"):
            whole_number("n_inducing", self.n_inducing, 1)
        whole_number("max_iter", self.max_iter, 1)
        number("tol", self.tol, positive=False)
        number("jitter", self.jitter, positive=True)
        for name in ("ard", "learn_kernel", "learn_inducing", "standardize"):
            switch(name, getattr(self, name))
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable or None, got {self.callback!r}.")

    def _problem(self, X, signs, weights, dtype: np.dtype) -> Problem:
        rng = check_random_state(self.random_state)
        spread = Standardiser.fitted(X, weights).scale
        kernel = as_kernel(self.kernel).prepared(spread, self.ard)
        with computing_in(np.dtype(np.float64)):
            Z = starting_points(
                self.inducing_points,
                self.n_inducing,
                self.inducing_init,
                self._standardiser,
                kernel,
                X,
                weights,
                rng,
            )
        size = rounded_up(len(X))
        no_weight = np.zeros(size - len(X))
        return Problem(
            rows=Rows(
                padded(X.astype(dtype), size),
                padded(signs.astype(dtype), size),
                np.concatenate([weights, no_weight]).astype(dtype),
            ),
            likelihood=self._likelihood,
            kernel=jax.tree.map(lambda parameter: parameter.astype(dtype), kernel),
            Z=Z.astype(dtype),
            jitter=float(self.jitter),
            learn_kernel=bool(self.learn_kernel),
            learn_inducing=bool(self.learn_inducing),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            rng=rng,
        )

    def _keep(self, fitted: Fitted, reporter: Reporter) -> None:
        """Set the fitted attributes and say what the user should know."""
        self.posterior_ = fitted.posterior
        self.kernel_ = fitted.posterior.kernel
        self.inducing_points_ = self._standardiser.undo(fitted.posterior.points)
        self.log_evidence_ = fitted.bound
        self.evidence_gradient_ = fitted.gradient._replace(
            inducing_points=fitted.gradient.inducing_points / self._standardiser.scale
        )
        self.n_iter_ = fitted.iterations
        self.converged_ = fitted.status is Status.CONVERGED
        self.history_ = reporter.history()
        if fitted.jitter > 1.5 * self.jitter:
            warnings.warn(
                f"the inducing points' covariance needed a jitter of {fitted.jitter:.0e} instead "
                f"of {self.jitter:.0e}: points are nearly equal for this kernel and dtype. The "
                "fit is sound; fewer inducing points or dtype='float64' avoid this.",
                NumericalWarning,
                stacklevel=4,
            )
        if fitted.status is Status.MAX_ITER:
            warnings.warn(
                f"the fit had not converged after max_iter={self.max_iter} iterations; the model "
                "is usable, and a larger max_iter or tol ends this warning.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # --- prediction ---------------------------------------------------------------------------

    def predict_latent(self, X: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of the latent function f at each row."""
        check_is_fitted(self)
        X = validate_data(self, with_numeric_columns(X), reset=False, dtype=np.float64)
        check_magnitude(X, getattr(self, "feature_names_in_", None))
        return prediction.marginals(self.posterior_, self._standardiser, X)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "N 2"]:
        """Log probability of each class, exact also where the probability underflows."""
        latent = self.predict_latent(X)
        return np.column_stack(prediction.log_probabilities(self._likelihood, *latent))

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N 2"]:
        """Probability of each class, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> Float[np.ndarray, " N"]:
        """Above zero for `classes_[1]`: the probability p of it as Φ⁻¹(p), or log p/(1-p)."""
        latent = self.predict_latent(X)
        return prediction.decision(self._likelihood, *latent)

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each row."""
        mean, _ = self.predict_latent(X)
        return self.classes_[(mean > 0).astype(int)]

    # --- keeping ------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file; `fewknots.load` reads it back, bit for bit.

        The file holds numbers and a JSON header, never code. `callback` is not kept.
        """
        check_is_fitted(self)
        model_file.save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
