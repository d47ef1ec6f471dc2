"""GPClassifier: the scikit-learn face. No mathematics here, only conventions."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .. import prediction
from ..data.tables import is_dask
from ..data.targets import (
    are_probabilities,
    check_has_order,
    check_not_negative,
    class_factors,
    found_classes,
    known_classes,
    label_column,
    order_of,
    ranked,
    row_weights,
    soft_labels,
)
from ..exceptions import ModelFileError
from ..export import to_onnx
from ..extras import missing
from ..files.container import shown
from ..files.header_values import decode_array
from ..fitting import sequence
from ..fitting.job import FitContext, FittedModel
from ..fitting.plan import may_be_gathered
from ..kernels import Kernel
from ..likelihoods import LINKS, Bernoulli, MultinomialProbit, Ordinal, Softmax
from ..numerics.precision import on_device, resolve_dtype
from ..progress import Progress, note
from ..training.row_sources import RowsInMemory
from . import new_gaps
from .streaming import StreamingFits


class GPClassifier(ClassifierMixin, StreamingFits):
    """Gaussian process classifier for any number of classes, held by a few inducing points.

    The posterior over the latent function is summarised at M inducing points and fitted by
    maximising a lower bound on the evidence (Hensman, Matthews & Ghahramani 2015, section 4). Three
    classes and more have a function each, with the same kernel and inducing points, all learned
    together.
    Kernel parameters and the places of the inducing points are learned on the way. `method`
    chooses among all the methods the paper compares; docs/choosing-a-method.md says which when.

    X is an array of numbers, or a pandas, polars or pyarrow table with columns of numbers,
    booleans, categories, text, dates and durations; both may have gaps. docs/tables.md says what
    they become.

    Parameters
    ----------
    kernel : kernel, str, or list of them, default "auto"
        "auto": Matern32 + Linear + Constant, each parameter with a prior, so that few rows and many
        inputs do no harm; several starting lengthscales are tried (docs/choosing-a-method.md).
        Among neighbours, Hyperbolic in place of Matern32, so that smoothness is learned.
        Or a kernel from `fewknots.kernels`, or names such as "matern32" or "matern32 + linear", or
        one of your own (docs/extending.md). `RBF(columns=["age", "income"])` looks at some inputs.
        It sees the inputs standardised (see `standardize`). Parameters given are where learning
        starts, or what is used if `learn_kernel=False`. A single parameter can be fixed, bounded
        or given a prior, as in `RBF(lengthscale=Bounded(0.1, 10.0))` (see `fewknots.kernels`).
        A list is a kernel for each class, in the order of `classes_` (three classes and more, or
        likelihood="softmax"; method "sparse_kl" or "full_kl").
    ard : bool, default True
        One lengthscale per input. False: one for all inputs, in every part of the kernel; a
        single part can choose for itself, as in `RBF(ard=False)`.
    likelihood : {"auto", "probit", "logit", "softmax", "ordinal"}, default "auto"
        How latent functions become probabilities. Two classes: "probit" or "logit" of one function.
        Any number: "softmax" of as many functions, whose expectations are computed exactly, not
        sampled; and for the mean field methods "probit", the largest of as many functions, each
        with unit normal noise. "auto": probit for two classes, softmax for more (mean field:
        probit). "ordinal": classes in an order, by one function and learned cut points; y holds
        numbers or is an ordered pandas column (method "sparse_kl" or "full_kl").
    method : str, default "auto"
        The inference method. Held by inducing points, O(NM²): "sparse_kl" (the paper's), "fitc_ep"
        (Generalized FITC), "sparse_mean_field", "two_stage", "ivm" (whose points are rows). Held by
        all rows, O(N³): "full_kl", "ep", "mean_field", "laplace". Not in the paper: "local", a
        small Gaussian process among the nearest rows of every query (docs/local.md), for many rows
        and fine structure. "auto": full_kl up to 300 rows unless inducing points are asked for,
        sparse_kl up to 2000. Above, sparse_kl and local compete on held-out rows and the better one
        stays, or an average of both, unless an argument was given that only one of them has;
        sparse_kl for streams and Dask collections. The softmax takes "sparse_kl", "full_kl",
        "laplace" and "local", and "auto" means the same for it.
    method_options : dict or None, default None
        "sparse_kl": {"bound": "standard" or "tight"}, the paper's bound or one that is closer to
        the evidence (docs/choosing-a-method.md), which training in rounds does not know.
        "ep", "fitc_ep": {"sweeps": "parallel" or "sequential"}. "mean_field",
        "sparse_mean_field": {"predictor": "gaussian" or "monte_carlo"}. "ivm": {"revisits": bool}.
        "local": {"inference": "laplace", "kl" or "ep"}, the method in each neighbourhood.
    n_inducing : int or "auto", default "auto"
        How many inducing points. "auto" grows with the cube root of the number of distinct rows
        ("ivm": twice as many; by minibatches up to three times as many, at most 300 on a CPU and
        500 on a GPU); for fewer rows with fine structure or many inputs, up to four times as many
        if the kernel is "auto".
    inducing_points : array of shape (M, n_features), default None
        Where the inducing points start, in the units of X (as `inducing_points_`); overrides
        `n_inducing`. With learn_inducing=False they stay there.
    inducing_init : {"kmeans", "greedy", "random"}, default "kmeans"
        How to choose them otherwise: cluster centres, rows of greatest conditional variance, or
        rows at random.
    n_neighbors : int or "auto", default "auto"
        For "local": how many rows a neighbourhood has. "auto" is 48 on a CPU and 96 on a GPU. Time
        grows with the square of this number, and for large neighbourhoods with its cube.
    learn_kernel, learn_inducing : bool, default True
        Whether kernel parameters and inducing points move. With both False only q(u) is fitted.
    store_rows : bool, default True
        Whether the fitted model, and so its file, may hold rows of X as they are. "local", "ivm"
        and the methods held by all rows do, and inducing points can be rows. False: "auto" chooses
        among the others, naming one of these is an error, and inducing points start beside rows,
        never exactly on one. (They still lie among the rows, and some close to one.)
    optimizer : str, default "auto"
        "collapsed" (what "auto" means): the method's own solver inside, for q(u) natural gradients,
        and L-BFGS-B for kernel and inducing points outside. "lbfgs": L-BFGS-B over everything at
        once, as in the paper, for "sparse_kl"; slower. "scg": scaled conjugate gradients outside
        ("auto" for the mean field methods). By minibatches, for "sparse_kl": "natural_gradient"
        for q(u) and Adam for the rest ("auto" above 2000 rows); "adam" or "adadelta" for
        everything, slower, for comparison ("adadelta" with batches of ten is the paper's).
        "rounds": as "collapsed", but it reads all rows only a few times and keeps nothing of a row
        in between; for rows on a cluster ("auto" for Dask collections of more than two million
        numbers), in memory for comparison.
    batch_size : int or "auto", default "auto"
        Rows a step of minibatch training sees. It does not choose minibatches by itself: up to 2000
        rows in memory `optimizer` must name one of theirs.
    max_iter : int or None, default None
        Most iterations of the outer optimizer; None: 1000. By minibatches the number of steps;
        None: three passes over the rows on a CPU, at least 400 steps, twenty passes on a GPU, at
        least 2000 steps, and at most 20,000, or as many as `max_time` allows.
    max_time : float or None, default None
        Seconds that a fit may take, from the call on: choosing inducing points, compiling,
        training, the last scores and, with method="auto", both methods. With minibatches the
        learning rates fall accordingly. A step that has begun is finished: that takes about a
        second, or as long as compiling a program. At least one step is done.
    tol : float, default 1e-5
        Stop when ten iterations raise the bound by less than this many nats per row; by the
        default optimiser fewer than 5000 rows count as 5000 (0.05 nats in all). By minibatches:
        when a thousand steps, or a pass over the rows, gain no more than that or the noise; with
        0 all of max_iter or max_time is used.
    validation_fraction : float or None, default None
        Minibatches: this share of the rows, at most 20,000, is not learned from but scored. The
        negative log probability (NLP) on it is in `history_` and in progress, and training stops
        when it no longer falls.
    checkpoint : path or None, default None
        Minibatches: the folder where the state of the run is saved. It costs at most a twentieth of
        the time.
    resume : bool, default False
        Continue from the newest valid checkpoint in that folder, if there is one. The model is the
        same, bit for bit, as that of an uninterrupted run.
    warm_start : bool, default False
        A second `fit` begins with what the first one learned: standardising, kernel, inducing
        points, and by minibatches the posterior.
    standardize : bool, default True
        Bring every input to mean 0 and standard deviation 1 first (with the training rows'
        values, at prediction too).
    warp : "auto" or None, default "auto"
        "auto": each input with a long tail goes through a monotone map before the kernel sees it,
        which is learned with the kernel: long tails become short, skewed inputs symmetric. It is
        then measured from its median in robust standard deviations, and the
        kernel's parameters are in units of the mapped inputs (docs/warps.md). Not with
        standardize=False or learn_kernel=False, nor for inputs of a periodic kernel. None: inputs
        as they are.
    class_weight : dict, "balanced" or None, default None
        Weights multiplied onto each row's log likelihood by its class.
    jitter : float or None, default None
        Added to the diagonal of the inducing points' covariance, times the kernel's variance.
        None: 1e-6, in float32 1e-4.
    dtype : {"float32", "float64"} or None, default None
        What to compute in. None: float64 for full batches on a CPU; float32 for minibatches and on
        a GPU (q(u) in float64 all the same above two million rows, where it matters).
    device : {"auto", "cpu", "gpu"}, default "auto"
        Where to compute. "auto": on the GPU if JAX sees one. Several devices share each batch.
    random_state : int, RandomState or None, default None
        For choosing inducing points and the order of minibatches.
    verbose : int, default 0
        1 shows progress, on a terminal or in a notebook.
    callback : callable or None, default None
        Called after each iteration (by minibatches: each few hundred) with a `fewknots.Progress`,
        whose `model()` is the classifier at that moment. If it returns True, the fit stops.
        scikit-learn's `set_callbacks` works too where it exists.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), sorted; with likelihood="ordinal" in their order
    n_features_in_ : int
    feature_names_in_ : array of str, if X had column names
    kernel_ : kernel with its learned parameters, in units of the standardised inputs
    recipe_ : how the columns of a table became numbers, and `recipe_.feature_names` which; None if
        they were numbers without gaps
    inducing_points_ : array of shape (M, n_features), in the units of X; for methods without
        inducing points the rows that hold the posterior; "local", which holds all rows, has none.
        With a recipe a column for each of its inputs: a level of a category goes from 0 to 1
    method_ : str, the method used; "combined" for an average of two
    combination_ : dict, if `method_` is "combined": the weight of each method's latent function;
        `kernel_` and `log_evidence_` are those of the heavier one
    posterior_ : the belief about the latent function; q(u), its mean and covariance at the inducing
        points, is `predict_latent(inducing_points_, return_cov=True)`, but for the jitter
    log_evidence_ : float, the log evidence as the method gives it; for "local" the leave-one-out
        log predictive probability, summed over the rows (above 4096 from as many of them);
        always without the priors that kernel parameters may have
    evidence_is_bound_ : bool, whether that is a lower bound
    evidence_gradient_ : its derivatives: `.kernel` for the logarithm of every kernel parameter,
        `.inducing_points` for every coordinate, in the units of X (not kept by `save`); None after
        minibatches
    n_iter_, n_evaluations_ : int, iterations (at least 1) and evaluations of the outer optimizer
    converged_ : bool, whether training came to its end: in full batch before max_iter; by
        minibatches True once the planned steps are done, wherever the bound then is
    contest_ : dict, if methods competed: the negative log probability (NLP) of the rows that were
        held out, by method; infinite for one that could not be fitted
    contest_gain_ : dict, if methods competed: by how much the winner's NLP is lower ("nlp"), a 95 %
        interval for that ("interval") and on how many rows ("rows"); None if only one was scored
    stored_rows_ : int, how many rows of X the model holds as they are; None if that is not known,
        as in files of older versions
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
        kernel: Kernel | str | Sequence[Kernel | str] = "auto",
        *,
        ard: bool = True,
        likelihood: str = "auto",
        method: str = "auto",
        method_options: Mapping[str, Any] | None = None,
        n_inducing: int | str = "auto",
        inducing_points: ArrayLike | None = None,
        inducing_init: str = "kmeans",
        n_neighbors: int | str = "auto",
        learn_kernel: bool = True,
        learn_inducing: bool = True,
        store_rows: bool = True,
        optimizer: str = "auto",
        batch_size: int | str = "auto",
        max_time: float | None = None,
        max_iter: int | None = None,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
        warm_start: bool = False,
        standardize: bool = True,
        warp: str | None = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        jitter: float | None = None,
        dtype: DTypeLike | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.method = method
        self.method_options = method_options
        self.n_inducing = n_inducing
        self.inducing_points = inducing_points
        self.inducing_init = inducing_init
        self.n_neighbors = n_neighbors
        self.learn_kernel = learn_kernel
        self.learn_inducing = learn_inducing
        self.store_rows = store_rows
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.max_time = max_time
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.checkpoint = checkpoint
        self.resume = resume
        self.warm_start = warm_start
        self.standardize = standardize
        self.warp = warp
        self.class_weight = class_weight
        self.jitter = jitter
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # --- fitting ------------------------------------------------------------------------------

    _learns = "classes"

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, context: FitContext, classes: Any = None
    ) -> FittedModel:
        if not is_dask(X):
            return super()._fit(X, y, sample_weight, context, classes)
        try:
            from ..distributed.fitting import rows_on_cluster
        except ImportError as error:
            what = "fitting to Dask collections needs dask and distributed"
            raise ImportError(missing(what, "dask")) from error
        settings, warm = self._settings(), self._warm()
        with rows_on_cluster(
            X,
            y,
            sample_weight,
            class_weight=settings.class_weight,
            dtype=resolve_dtype(settings.dtype),
            device=settings.device,
            checkpoint=settings.checkpoint,
        ) as rows:
            if not (rows.is_small and may_be_gathered(settings)):
                return sequence.fit(settings, rows, context, warm)
            if settings.likelihood == "ordinal" and rows.classes is not None:
                check_has_order(rows.classes)
            if settings.verbose:
                note(f"{rows.n_rows:,} rows are few for a cluster: they are fitted in this process")
            gathered = rows.gathered()
        return sequence.fit(settings, gathered, context, warm)

    def _rows_in_memory(self, settings, X, y, sample_weight, classes=None, reset=True):
        if are_probabilities(y):
            return self._soft_rows(settings, X, y, sample_weight, classes, reset)
        order = order_of(y)
        X, y, columns = self._checked(X, label_column(y), reset)
        found = found_classes(y) if classes is None else known_classes(y, classes)
        if settings.likelihood == "ordinal":
            found = ranked(found, order if classes is None else np.asarray(classes))
        weights = row_weights(sample_weight, settings.class_weight, X, found)
        names = self._names if columns is None else columns.feature_names
        return RowsInMemory(X, found.codes, weights, names, found.labels, columns=columns)

    def _soft_rows(self, settings, X, y, sample_weight, classes, reset) -> RowsInMemory:
        """A row for each class that a soft label gives a probability to, which is its weight."""
        if classes is not None or settings.method == "local" or settings.likelihood == "ordinal":
            raise ValueError(
                "soft labels (a probability for each class in the columns of y) are for fit, and "
                "neither for method='local' nor for likelihood='ordinal'. Use method='auto'."
            )
        P, labels = soft_labels(y)
        X, _, columns = self._checked(X, P[:, 0], reset)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        check_not_negative(weights)
        rows, codes = np.nonzero(P)
        weights = weights[rows] * P[rows, codes]
        totals = np.bincount(codes, weights, minlength=len(labels))
        weights = weights * class_factors(settings.class_weight, labels, totals)[codes]
        names = self._names if columns is None else columns.feature_names
        return RowsInMemory(X[rows], codes, weights, names, labels, columns=columns)

    # --- prediction ---------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class, exact also where the probability underflows."""
        if is_dask(X):
            return self._lazily("predict_log_proba", X)
        return np.column_stack(self._log_probabilities(X))

    def _log_probabilities(self, X: Any) -> tuple[np.ndarray, ...]:
        check_is_fitted(self)
        of_rows = partial(prediction.log_probabilities, self._likelihood)
        return self._predicted(of_rows, new_gaps.mean_log_probability, X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, in the order of `classes_`.

        Of a Dask collection, as all predictions: a Dask collection, computed when it is needed.
        """
        if is_dask(X):
            return self._lazily("predict_proba", X)
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> Any:
        """Two classes: above zero for `classes_[1]`, its probability p as Φ⁻¹(p) or log p/(1-p).

        More: a column for each class, log p; the largest is predicted.
        """
        if is_dask(X):
            return self._lazily("decision_function", X)
        check_is_fitted(self)
        if self._likelihood.n_latent > 1 or len(self.classes_) > 2:
            log_p = self.predict_log_proba(X)
            return log_p if len(self.classes_) > 2 else log_p[:, 1] - log_p[:, 0]
        rows = self._rows(X)
        if new_gaps.have_gaps(rows):  # the average is one of probabilities
            return prediction.decision_of(self._likelihood, *self._log_probabilities(X))
        with on_device(self.device):
            return prediction.decision(self._likelihood, self.posterior_, self._standardiser, rows)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        if is_dask(X):
            return self._lazily("predict", X)
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else np.argmax(decision, axis=1)
        return self.classes_[best]

    def _lazily(self, method: str, X: Any) -> Any:
        from ..distributed.predicting import predicted  # here: it needs Dask

        check_is_fitted(self)
        return predicted(self, method, X)

    # --- keeping ------------------------------------------------------------------------------

    def to_onnx(self, path: str | PathLike[str], dtype: str = "float32") -> None:
        """Write the fitted model as an ONNX graph, for programs without Python or JAX.

        Input "X" (rows, features), or an input for each column of a table that was not of numbers
        alone; outputs "probabilities" (rows, classes) and "label". docs/serving.md shows a server.
        Probabilities agree with `predict_proba` to 1e-5, with dtype="float64" to 1e-10. Needs onnx,
        the extra `onnx`: `pip install 'fewknots[onnx]'`.
        """
        check_is_fitted(self)
        to_onnx(self, path, dtype=dtype, recipe=self.recipe_)

    def _targets_header(self, encode_array) -> dict[str, Any]:
        likelihood = self._likelihood
        if isinstance(likelihood, Ordinal):
            odds = encode_array(np.asarray(likelihood.odds, np.float64))
            return {"likelihood": "ordinal", "classes": encode_array(self.classes_), "odds": odds}
        probit = isinstance(likelihood, MultinomialProbit)
        several = "probit" if probit else "softmax"
        name = likelihood.link if isinstance(likelihood, Bernoulli) else several
        return {"likelihood": name, "classes": encode_array(self.classes_)}

    @staticmethod
    def _restored_targets(header: dict[str, Any], dtype: np.dtype, known: Any) -> dict[str, Any]:
        name, classes = header["likelihood"], decode_array(header["classes"])
        if name not in (*LINKS, "softmax", "ordinal"):
            raise ModelFileError(f"unknown likelihood {shown(name)}.")
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ModelFileError("its classes are not two or more different labels.")
        if name == "ordinal":
            odds = decode_array(header["odds"])
            right = odds.dtype.kind == "f" and odds.shape == (len(classes) - 1,)
            if not (right and np.all((odds > 0) & np.isfinite(odds))):
                raise ModelFileError("its odds are not one positive number less than classes.")
            likelihood = Ordinal(len(classes), odds.astype(dtype))
            return {"likelihood": likelihood, "classes": classes}
        if name == "softmax":
            return {"likelihood": Softmax(len(classes)), "classes": classes}
        if name == "probit" and len(classes) > 2:
            return {"likelihood": MultinomialProbit(len(classes)), "classes": classes}
        if len(classes) != 2:
            raise ModelFileError("its classes are not two.")
        return {"likelihood": Bernoulli(name), "classes": classes}
