"""Rows that are not in memory, or not yet there: fitting to them, predicting for them."""

import tempfile
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import prediction
from ..data.sources import Block, open_source
from ..data.spool import Spool
from ..data.standardise import Standardiser
from ..data.tables import check_magnitude, warn_of_constant_columns, with_numeric_columns
from ..data.targets import check_same_classes, class_factors
from ..distributed.collections import is_dask
from ..files.container import replacing
from ..inference.sites import Rows
from ..inference.sparse_kl import SparseKL
from ..likelihoods import Bernoulli
from ..local.posterior import LocalPosterior
from ..numerics.precision import on_device
from ..posterior import GaussianPosterior
from ..reach import OutOfReachError
from ..training.schedule import Plan
from .base import GPEstimator
from .local_fits import check_warm, with_more_rows
from .methods import FitPlan
from .minibatches import Warm, check_same_width, table_on_disk, update
from .on_cluster import fit_on_cluster
from .sklearn_callbacks import begin_fit, end_fit, with_callbacks

_UPDATE_BATCH = 8192  # rows of a partial_fit that are looked at together
_UPDATE_STEPS = 100


class StreamingFits(GPEstimator):
    """What GPClassifier can do with rows that are not at hand all at once."""

    classes_: np.ndarray

    def _fit(self, X, y, sample_weight, *known):
        if is_dask(X):
            fit_on_cluster(self, X, y, sample_weight)
        else:
            super()._fit(X, y, sample_weight, *known)

    @with_callbacks
    def fit_stream(
        self,
        source: Any,
        target: Any = None,
        *,
        features: Any = None,
        weight: Any = None,
    ):
        """Fit to rows that are read from disk, or from a function, never all at once in memory.

        The rows are read once to check them, standardise them and copy them to a scratch file (in
        `checkpoint`, or in the system's temporary folder), and from there in random order while
        training goes on. Memory does not grow with their number, except with method="local", which
        keeps all rows.

        source : path of a Parquet, CSV, TSV or Arrow/Feather file, a folder of them, a pattern such
            as "flights/*.parquet" or a list of paths; a 2-D array, np.memmap or .npy file; or a
            function without arguments that returns an iterator of (X, y), (X, y, weights) or
            tables.
        target : the column with the labels; for arrays its number, or the labels themselves.
        features : the columns to use; None means all but target and weight.
        weight : the column with each row's weight, if any.
        """
        self._task = begin_fit(self, None, None)
        self._all_or_nothing(lambda: self._fit_stream(source, target, features, weight))
        end_fit(self, None, None)
        return self

    def _fit_stream(self, source, target, features, weight):
        self._check_parameters()
        opened = open_source(source, target, features, weight)
        folder = Path(tempfile.gettempdir() if self.checkpoint is None else self.checkpoint)
        folder.mkdir(parents=True, exist_ok=True)
        warm = self._warm()
        with Spool.written(opened, folder) as spool:
            if warm is not None:
                check_same_width(warm, spool.n_features)
            self._set_stream_features(spool)
            self.classes_ = spool.classes
            fit_plan = self._fit_plan(spool.n_rows, streamed=True)
            check_warm(warm, fit_plan)
            extremes = np.array([spool.minimum, spool.maximum])
            warn_of_constant_columns(extremes, getattr(self, "feature_names_in_", None))
            factors = class_factors(self.class_weight, spool.classes, spool.class_totals)
            if warm is not None:
                self._standardiser = warm.standardiser
            elif self.standardize:
                self._standardiser = Standardiser(spool.mean, spool.scale)
            else:
                self._standardiser = Standardiser.identity(spool.n_features)
            likelihood = Bernoulli(self.likelihood)
            table = table_on_disk(spool, factors, self._standardiser, likelihood.encoded)
            self._fit_table(table, fit_plan, likelihood, warm)

    def _set_stream_features(self, spool: Spool) -> None:
        self.n_features_in_ = spool.n_features
        if spool.feature_names is not None:
            self.feature_names_in_ = np.array(spool.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None):
        """Learn from more rows, each taken to be new.

        The first call fits to its rows; it needs `classes`, both labels there will ever be, and
        should see enough rows to learn kernel and inducing points from. Every later call lets its
        rows inform the posterior of all rows before, and moves neither; with method="local" they
        join the rows in which neighbours are looked for. After `fit`, or `load`, every call is a
        later one. (To learn everything again from where it stands: `warm_start`.)
        """
        if is_dask(X):
            raise TypeError(
                "partial_fit takes rows in memory, but X is a Dask collection. To learn from all "
                "its rows, use fit, with warm_start=True to go on from what was learned before; to "
                "add them piece by piece, call partial_fit with each piece's compute()."
            )
        if not hasattr(self, "posterior_"):
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes, the two labels.")
            return self._all_or_nothing(lambda: self._fit(X, y, sample_weight, classes))
        return self._all_or_nothing(lambda: self._update(X, y, sample_weight, classes))

    def _update(self, X, y, sample_weight, classes) -> None:
        self._check_parameters()
        check_same_classes(classes, self.classes_)
        if not isinstance(self.posterior_, GaussianPosterior | LocalPosterior):
            raise ValueError(
                "partial_fit continues a Gaussian posterior, which method_options="
                "{'predictor': 'monte_carlo'} does not give."
            )
        X, y = validate_data(
            self,
            with_numeric_columns(X),
            self._target_column(y),
            dtype=np.float64,
            reset=False,
        )
        check_magnitude(X, getattr(self, "feature_names_in_", None))
        codes, weights = self._targets(X, y, sample_weight, self.classes_)
        rows = Rows(self._standardiser(X), self._likelihood.encoded(codes), weights)
        if isinstance(self.posterior_, LocalPosterior):
            self.posterior_, self.log_evidence_ = with_more_rows(self.posterior_, rows)
            self.stored_rows_ = len(self.posterior_.points)
            return
        warm = Warm(self.kernel_, self.posterior_, self._standardiser)
        plan = Plan("natural_gradient", min(len(X), _UPDATE_BATCH), _UPDATE_STEPS)
        fit_plan = FitPlan(SparseKL(), plan=plan)
        so_far, stored_rows = self.log_evidence_, self.stored_rows_
        fitted, reporter = update(self, rows, warm, fit_plan, self._likelihood)
        self._keep(fitted, fit_plan, reporter)
        # log p(new, old) = log p(old) + log p(new | old); the last given a posterior that is
        # itself approximate, so that the sum is close to a bound but no longer one.
        self.log_evidence_ += so_far
        self.stored_rows_ = stored_rows  # the points stay where they are
        self.evidence_is_bound_ = False

    def predict_stream(
        self, source: Any, destination: str | PathLike[str], *, keep: Any = ()
    ) -> int:
        """Write the probabilities of the rows of `source` to the Parquet file `destination`.

        Reads and writes a block of rows at a time; the file appears when it is complete. Its
        columns: those of the source that `keep` names, "p_" and the label for each class, and
        "prediction", the more probable label. Returns the number of rows.

        source : as in `fit_stream`; a table needs the columns that the model was fitted to.
        """
        import pyarrow.parquet as pq

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        opened = open_source(source, features=None if names is None else list(names))
        if opened.n_features != self.n_features_in_:
            raise ValueError(
                f"the source has {opened.n_features} features, but the model was fitted to "
                f"{self.n_features_in_}."
            )
        n_rows = 0
        with replacing(destination) as unfinished, ExitStack() as stack:
            writer = None
            for block in opened.blocks(keep=tuple(keep)):
                scored = self._scored(block)
                if writer is None:
                    writer = stack.enter_context(pq.ParquetWriter(unfinished, scored.schema))
                writer.write_table(scored)
                n_rows += len(block.X)
        return n_rows

    def _scored(self, block: Block):
        """The block's kept columns, probabilities and predictions as a table."""
        import pyarrow as pa

        with on_device(self.device):
            try:
                both = prediction.log_probabilities(
                    self._likelihood, self.posterior_, self._standardiser, block.X
                )
            except OutOfReachError as error:
                raise error.at(block.place) from None
        columns: dict[str, Any] = {}
        if block.table is not None:
            columns = dict(zip(block.table.schema.names, block.table.columns, strict=True))
        for label, log_p in zip(self.classes_, both, strict=True):
            columns[f"p_{label}"] = pa.array(np.exp(log_p))
        try:
            labels = pa.array(self.classes_)
        except pa.ArrowNotImplementedError:  # dates by the year or the hour
            labels = pa.array(self.classes_.astype(str))
        columns["prediction"] = labels.take(pa.array((both[1] > both[0]).astype(int)))
        return pa.table(columns)
