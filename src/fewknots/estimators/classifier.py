"""GPClassifier: scikit-learn's interface. No mathematics here, only conventions."""

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
from ..files.container import shown
from ..files.header_values import decode_array
from ..kernels import Kernel
from ..likelihoods import LINKS, Bernoulli, MultinomialProbit, Ordinal, Softmax
from ..numerics.precision import on_device
from ..progress import Progress
from ..training.row_sources import RowsInMemory
from . import new_gaps
from .streaming import StreamingFits


class GPClassifier(ClassifierMixin, StreamingFits):
    """Gaussian process classifier for any number of classes, sparse or exact.

    The posterior of the latent function is kept at M inducing points. It is found by maximising a
    lower bound on the evidence (Hensman, Matthews & Ghahramani 2015, section 4); kernel parameters
    and inducing points are learned at the same time. With three or more classes each class has its
    own latent function; all of them share kernel and inducing points. `method` chooses between all
    methods that the paper compares; docs/choosing-a-method.md says when to use which.

    X is an array of numbers, or a pandas, polars or pyarrow table with columns of numbers,
    booleans, categories, text, dates and durations. Both may have gaps (missing values).
    docs/tables.md describes how columns become numbers.

    Parameters
    ----------
    kernel : kernel, str, or list of these, default "auto"
        "auto": Matern32 + Linear + Constant. Each parameter has a prior, against overfitting when
        rows are few and inputs many; training tries several starting lengthscales
        (docs/choosing-a-method.md). For method="local" the first part is Hyperbolic instead of
        Matern32, so that the smoothness is learned, too.
        Otherwise a kernel from `fewknots.kernels`, a text such as "matern32" or
        "matern32 + linear", or a kernel of your own (docs/extending.md).
        `RBF(columns=["age", "income"])` uses only these inputs. The kernel sees standardised
        inputs (see `standardize`). Parameters that you give are the start of training, or are used
        as they are if `learn_kernel=False`. A parameter can be fixed, bounded or given a prior, as
        in `RBF(lengthscale=Bounded(0.1, 10.0))` (see `fewknots.kernels`).
        A list has one kernel for each class, in the order of `classes_` (for three or more classes,
        or likelihood="softmax"; method "sparse_kl" or "full_kl").
    ard : bool, default True
        One lengthscale per input (automatic relevance determination). False: one lengthscale for
        all inputs, in every part of the kernel. `RBF(ard=False)` sets it for one part.
    likelihood : {"auto", "probit", "logit", "softmax", "ordinal"}, default "auto"
        How latent functions become probabilities. Two classes: "probit" or "logit" of one latent
        function. Any number of classes: "softmax" of one function per class, whose expectations are
        computed exactly, without sampling. The mean field methods use "probit" for any number of
        classes: the class whose function plus unit normal noise is largest. "auto": probit for two
        classes, softmax for more (mean field: probit). "ordinal": ordered classes, with one
        function and learned cut points; y holds numbers or is an ordered pandas column (method
        "sparse_kl" or "full_kl").
    method : str, default "auto"
        The inference method.
        With inducing points, O(NM²): "sparse_kl" (the paper's), "fitc_ep" (Generalized FITC),
        "sparse_mean_field", "two_stage", "ivm" (its points are rows). With all rows, O(N³):
        "full_kl", "ep", "mean_field", "laplace". Not in the paper: "local", a small Gaussian
        process among the nearest rows of every query (docs/local.md), for many rows and fine
        structure.
        "auto": full_kl up to 300 rows unless inducing points are asked for, sparse_kl up to 2000
        rows. Above, sparse_kl and local are both fitted and compared on held-out rows; the better
        one is kept, or an average of both (if an argument belongs to only one of them, that one
        is used). For streams and Dask collections: sparse_kl. With the softmax, "sparse_kl",
        "full_kl", "laplace" and "local" are possible, and "auto" means the same.
    method_options : dict or None, default None
        "sparse_kl": {"bound": "standard" or "tight"}, the paper's bound or one that is closer to
        the evidence (docs/choosing-a-method.md); optimizer="rounds" has only the first.
        "ep", "fitc_ep": {"sweeps": "parallel" or "sequential"}. "mean_field",
        "sparse_mean_field": {"predictor": "gaussian" or "monte_carlo"}. "ivm": {"revisits": bool}.
        "local": {"inference": "laplace", "kl" or "ep"}, the method in each neighbourhood.
    n_inducing : int or "auto", default "auto"
        Number of inducing points. "auto" grows with the cube root of the number of distinct rows
        ("ivm": twice as many; with minibatches up to three times as many, at most 300 on a CPU and
        500 on a GPU). In a full batch with kernel="auto", up to four times as many if the data have
        fine structure or many inputs.
    inducing_points : array of shape (M, n_features), default None
        Initial inducing points, in the units of X (as `inducing_points_`); overrides `n_inducing`.
        With learn_inducing=False they stay there.
    inducing_init : {"kmeans", "greedy", "random"}, default "kmeans"
        How initial inducing points are chosen otherwise: cluster centres, rows of greatest
        conditional variance, or random rows.
    n_neighbors : int or "auto", default "auto"
        For "local": the number of rows in a neighbourhood. "auto" is 48 on a CPU and 96 on a GPU.
        Time grows with the square of this number, and for large neighbourhoods with its cube.
    learn_kernel, learn_inducing : bool, default True
        Whether kernel parameters and inducing points are learned. If both are False, only q(u) is.
    store_rows : bool, default True
        Whether the fitted model, and so its file, may contain rows of X unchanged. "local", "ivm"
        and the methods with all rows need them, and inducing points can be rows. False: "auto"
        chooses among the other methods, naming one of these is an error, and no inducing point
        starts exactly on a row. (They still lie between the rows, some of them close to one.)
    optimizer : str, default "auto"
        Full batch: "collapsed" (the default) has an inner solver for q(u) (natural gradients, or
        the method's own) and an outer L-BFGS-B for kernel and inducing points. "scg": scaled
        conjugate gradients as the outer optimizer (default of the mean field methods). "lbfgs":
        L-BFGS-B over everything at once, as in the paper, for "sparse_kl"; slower.
        Minibatches, for "sparse_kl": "natural_gradient" for q(u) and Adam for the rest (default
        above 2000 rows); "adam" or "adadelta" for everything, slower, for comparison ("adadelta"
        with batches of ten is the paper's).
        "rounds": as "collapsed", but it reads all rows only a few times and stores nothing per row;
        for rows on a cluster (default for Dask collections of more than two million numbers), in
        memory for comparison.
    batch_size : int or "auto", default "auto"
        Rows per step of minibatch training. This argument alone does not switch to minibatches: up
        to 2000 rows in memory, `optimizer` must name an optimizer for minibatches, too.
    max_iter : int or None, default None
        Maximum number of iterations of the outer optimizer; None: 1000. With minibatches the number
        of steps; None: three passes over the rows on a CPU (at least 400 steps), twenty passes on a
        GPU (at least 2000 steps), at most 20,000 steps, or as many as `max_time` allows.
    max_time : float or None, default None
        Time limit of the whole call of `fit` in seconds: choosing inducing points, compiling,
        training, the last scores and, with method="auto", both methods. With minibatches the
        learning rates decay accordingly. A step that has started is finished, which takes about a
        second, or as long as compiling a program. At least one step is done.
    tol : float, default 1e-5
        Stop when ten iterations raise the bound by less than this many nats per row. With
        minibatches: when a thousand steps, or a pass over the rows, gain less than this or less
        than the noise; with 0 all of max_iter or max_time is used.
    validation_fraction : float or None, default None
        Minibatches: this share of the rows (at most 20,000) is held out of training and scored.
        `history_` and progress show their negative log probability (NLP), and training stops when
        it no longer falls.
    checkpoint : path or None, default None
        Minibatches: folder in which the state of the run is saved. This takes at most a twentieth
        of the time.
    resume : bool, default False
        Continue from the newest valid checkpoint in that folder, if there is one. The resulting
        model is the same, bit for bit, as without the interruption.
    warm_start : bool, default False
        A second `fit` starts from what the first one learned: standardisation, kernel, inducing
        points, and with minibatches the posterior.
    standardize : bool, default True
        Shift and scale every input to mean 0 and standard deviation 1 first (those of the training
        rows, also for predictions).
    warp : "auto" or None, default "auto"
        "auto": each input with a long tail goes through a monotone map before the kernel sees it.
        The map is learned with the kernel: it shortens long tails and makes skewed inputs more
        symmetric. Such an input is centred at its median and scaled by a robust standard deviation,
        and the kernel's parameters are in units of the mapped inputs (docs/warps.md). Not with
        standardize=False or learn_kernel=False, and not for inputs of a periodic kernel. None: no
        maps.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes: each row's log likelihood is multiplied by that of its class.
    jitter : float or None, default None
        Added to the diagonal of the inducing points' covariance, times the kernel's variance.
        None: 1e-6, in float32 1e-4.
    dtype : {"float32", "float64"} or None, default None
        Number format of the computations. None: float64 for full batches on a CPU; float32 for
        minibatches and on a GPU (above two million rows, where it matters, q(u) is still in
        float64).
    device : {"auto", "cpu", "gpu"}, default "auto"
        Where to compute. "auto": on the GPU if JAX finds one. Several devices share each batch.
    random_state : int, RandomState or None, default None
        Seed for the choice of inducing points and the order of minibatches.
    verbose : int, default 0
        1 shows progress, on a terminal or in a notebook.
    callback : callable or None, default None
        Called after each iteration (with minibatches after every few hundred) with a
        `fewknots.Progress`, whose `model()` returns the classifier at that moment. If the callback
        returns True, the fit stops. scikit-learn's `set_callbacks` works, too, where it exists.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), sorted; with likelihood="ordinal" in their order
    n_features_in_ : int
    feature_names_in_ : array of str, if X had column names
    kernel_ : kernel with its learned parameters, in units of the standardised inputs
    recipe_ : how the columns of a table became numbers; `recipe_.feature_names` names these. None
        if all columns were numbers without gaps
    inducing_points_ : array of shape (M, n_features), in the units of X. For methods without
        inducing points the rows that hold the posterior; "local", which keeps all rows, does not
        have this attribute. With a recipe, one column for each of its features: the column of a
        category's level has values from 0 to 1
    method_ : str, the method used; "combined" for an average of two
    combination_ : dict, if `method_` is "combined": the weight of each method's latent function;
        `kernel_` and `log_evidence_` are those of the method with the larger weight
    posterior_ : the posterior of the latent function. Mean and covariance of q(u) are
        `predict_latent(inducing_points_, return_cov=True)`, up to the jitter
    log_evidence_ : float, the method's approximation of the log evidence; for "local" the
        leave-one-out log predictive probability, summed over the rows (above 4096 rows estimated
        from 4096 of them). Priors on kernel parameters are never included
    evidence_is_bound_ : bool, whether `log_evidence_` is a lower bound
    evidence_gradient_ : gradient of `log_evidence_`: `.kernel` with respect to the logarithm of
        every kernel parameter, `.inducing_points` with respect to every coordinate, in the units of
        X. None after minibatches; not saved by `save`
    n_iter_, n_evaluations_ : int, iterations (at least 1) and evaluations of the outer optimizer
    converged_ : bool, whether training ended by itself: in full batch before max_iter; with
        minibatches after all planned steps, which says nothing about the bound
    contest_ : dict, if methods were compared: for each method the negative log probability (NLP) of
        the held-out rows; infinite for a method that could not be fitted
    contest_gain_ : dict, if methods were compared: by how much the winner's NLP is lower ("nlp"),
        a 95 % interval of this difference ("interval") and the number of rows ("rows"); None if
        only one method was scored
    stored_rows_ : int, how many rows of X the model contains unchanged; None if unknown, as in
        files of older versions
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
        """One row for each class with a positive probability in a soft label; the weight is this
        probability.
        """
        if classes is not None or settings.method == "local":
            raise ValueError(
                "soft labels (a probability for each class in the columns of y) work with fit, but "
                "not with method='local'. Use method='auto'."
            )
        P, labels = soft_labels(y, ordered=settings.likelihood == "ordinal")
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
        """Log probability of each class, exact even if the probability underflows."""
        if is_dask(X):
            return self._lazily("predict_log_proba", X)
        return np.column_stack(self._log_probabilities(X))

    def _log_probabilities(self, X: Any) -> tuple[np.ndarray, ...]:
        check_is_fitted(self)
        of_rows = partial(prediction.log_probabilities, self._likelihood)
        return self._predicted(of_rows, new_gaps.mean_log_probability, X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, in the order of `classes_`.

        For a Dask collection every prediction is a Dask collection, computed when it is needed.
        """
        if is_dask(X):
            return self._lazily("predict_proba", X)
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> Any:
        """Two classes: Φ⁻¹(p) or log p/(1-p) of the probability p of `classes_[1]`.

        Three or more: log p, one column for each class; the largest is predicted.
        """
        if is_dask(X):
            return self._lazily("decision_function", X)
        check_is_fitted(self)
        if self._likelihood.n_latent > 1 or len(self.classes_) > 2:
            log_p = self.predict_log_proba(X)
            return log_p if len(self.classes_) > 2 else log_p[:, 1] - log_p[:, 0]
        rows = self._rows(X)
        if new_gaps.have_gaps(rows):  # probabilities are averaged, not latent functions
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
        from ..distributed.predicting import predicted  # imported here: it needs Dask

        check_is_fitted(self)
        classes = self.classes_
        if method == "predict":
            return predicted(self, method, X, classes[:1])
        if method == "decision_function" and len(classes) == 2:
            return predicted(self, method, X, np.zeros(1))
        return predicted(self, method, X, np.zeros((1, len(classes))), list(classes))

    # --- keeping ------------------------------------------------------------------------------

    def to_onnx(self, path: str | PathLike[str], dtype: str = "float32") -> None:
        """Write the fitted model as an ONNX graph, for programs without Python or JAX.

        Its input is "X" (rows, features), or one input per column if the model was fitted to a
        table with columns that are not numbers. Its outputs are "probabilities" (rows, classes) and
        "label". docs/serving.md shows a server. Probabilities agree with `predict_proba` to 1e-5,
        with dtype="float64" to 1e-10. Needs onnx: `pip install 'fewknots[onnx]'`.
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
