"""Fitting to rows that arrive later (`partial_fit`), and predictions for rows in files."""

from contextlib import ExitStack
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import prediction
from ..data.memory_columns import memory_table
from ..data.row_checks import OutOfReachError
from ..data.sources import Block, open_source
from ..data.tables import is_dask
from ..data.targets import check_same_classes
from ..files.container import replacing
from ..fitting import sequence
from ..fitting.job import FitContext, FittedModel
from ..numerics.precision import on_device
from ..posterior import CoupledPosterior, MixturePosterior
from .base import GPEstimator

Streaming = TypeVar("Streaming", bound="StreamingFits")


class StreamingFits(GPEstimator):
    """Methods of GPClassifier for rows that do not come all at once."""

    def partial_fit(
        self: Streaming, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Streaming:
        """Learn from more rows, which must be new ones.

        The first call fits to its rows; it needs `classes`, all labels that will ever occur, and
        should get enough rows to learn kernel and inducing points from. Every later call updates
        the posterior with its rows and keeps kernel and inducing points; with method="local" it
        adds the rows to those among which neighbours are found. After `fit` or `load` every call
        is an update. (To learn everything again, starting from the current model, use
        `warm_start`.)
        """
        if is_dask(X):
            raise TypeError(
                "partial_fit takes rows in memory, but X is a Dask collection. To learn from all "
                "its rows, use fit, with warm_start=True to go on from what was learned before; to "
                "add them piece by piece, call partial_fit with each piece's compute()."
            )
        if not hasattr(self, "posterior_"):
            if classes is None:
                raise ValueError(
                    "the first call of partial_fit needs the argument classes, with all labels "
                    "that will occur."
                )
            first = (X, y, sample_weight)
            return self._all_or_nothing(lambda context: self._fit(*first, context, classes))
        check_same_classes(classes, self.classes_)
        if isinstance(self.posterior_, MixturePosterior):
            raise ValueError(
                "partial_fit continues a Gaussian posterior, and that of "
                "method_options={'predictor': 'monte_carlo'} is not one."
            )
        if isinstance(self.posterior_, CoupledPosterior):
            raise ValueError(
                "partial_fit continues a posterior that is independent between classes, and that "
                "of method='laplace' is not. Use method='sparse_kl' or 'full_kl'."
            )
        if self._likelihood.largest_leads:
            raise ValueError(
                "partial_fit of more than two classes needs likelihood='softmax', but this model "
                "has 'probit'. Use method='sparse_kl' or 'full_kl'."
            )
        return self._all_or_nothing(lambda context: self._update(X, y, sample_weight, context))

    def _update(self, X: Any, y: Any, sample_weight: Any, context: FitContext) -> FittedModel:
        settings = self._settings()
        rows = self._rows_in_memory(settings, X, y, sample_weight, self.classes_, reset=False)
        return sequence.update(settings, rows, context, self._fitted)

    def predict_stream(
        self, source: Any, destination: str | PathLike[str], *, keep: Any = ()
    ) -> int:
        """Write the probabilities of the rows of `source` to the Parquet file `destination`.

        Reads and writes one block of rows at a time; the file appears when it is complete. Its
        columns are those of the source that `keep` names, one for each class ("p_" and the label),
        and "prediction", the most probable label. Returns the number of rows.

        source : as in `fit_stream`; a table must have the columns that the model was fitted to.
        """
        import pyarrow.parquet as pq

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        self._check_streamable()
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

    def _check_streamable(self) -> None:
        columns = self._columns
        kinds = set() if columns is None else {column.kind for column in columns.recipe.columns}
        if not kinds <= {"number", "boolean"}:
            raise ValueError(
                "this model was fitted to a table with text, categories or dates, and "
                "predict_stream reads columns of numbers. Read the file in pieces, as pyarrow's "
                "ParquetFile.iter_batches does, and call predict_proba with each piece."
            )

    def _scored(self, block: Block):
        """The block's kept columns, probabilities and predictions as a table."""
        import pyarrow as pa

        X = block.X if self._columns is None else self._columns.encode(memory_table(block.X))
        with on_device(self.device):
            try:
                log_p = prediction.log_probabilities(
                    self._likelihood, self.posterior_, self._standardiser, X
                )
            except OutOfReachError as error:
                raise error.at(block.place) from None
        columns: dict[str, Any] = {}
        if block.table is not None:
            columns = dict(zip(block.table.schema.names, block.table.columns, strict=True))
        for label, column in zip(self.classes_, log_p, strict=True):
            columns[f"p_{label}"] = pa.array(np.exp(column))
        try:
            labels = pa.array(self.classes_)
        except pa.ArrowNotImplementedError:  # dates become text, counted in years or hours
            labels = pa.array(self.classes_.astype(str))
        columns["prediction"] = labels.take(pa.array(np.argmax(log_p, axis=0)))
        return pa.table(columns)
