"""An estimator together with its recipe: what `fewknots fit` saves.

`GPClassifier` and `GPRegressor` take numbers. A table has words, dates and gaps, and predictions
should work for the raw table. So the model file also holds how each column becomes numbers
(recipe/), the values of the target, and two simple models to compare with (baselines.py,
number_baselines.py).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from ..data.csv_dialect import CsvOptions
from ..data.iterator_source import arrow_table
from ..data.row_checks import Reasons, joined, refuse
from ..data.sources import Place
from ..data.table_files import RawFiles
from ..estimators import saved_model
from ..exceptions import ModelFileError
from ..files import model_format
from ..files.container import Arrays, Header
from ..files.header_values import KnownClasses
from ..files.model_format import field
from .baselines import Baselines
from .judging import JUDGES, Judge
from .learned_rows import LearnedRows
from .number_baselines import NumberBaselines
from .recipe import Recipe
from .recipe.number_target import NumberTarget, Target, target_from_header

_BASELINES, _LEARNED = "baselines.", "learned_rows."
_AS_RECOGNISED = CsvOptions()


class TableRows(NamedTuple):
    """Some consecutive rows of a table, raw and encoded.

    Some rows cannot be scored: a value that the model needs may be missing, or may not be a number.
    `X`, `y` and `raw` contain only the rows that can be scored.
    """

    X: Float[np.ndarray, "N D"]
    # number of the label, 1 for the positive of two, or the number itself; None without targets
    y: np.ndarray | None
    raw: pa.RecordBatch
    place: Place
    whole: pa.RecordBatch  # all rows
    reasons: Reasons  # why a row cannot be scored, by its number in `whole`
    numbers: np.ndarray  # row numbers of `X` in their file, from 0
    unseen: Counter[str]  # number of rows for each label that the model does not know


@dataclass(frozen=True)
class TableModel:
    """A fitted classifier or regressor that takes raw tables.

    estimator : the Gaussian process, a `GPClassifier` or `GPRegressor`; the `classes_` of a
        classifier are the values of `labels`
    recipe : converts columns to its inputs
    labels : the target column and its values, of two the positive one last; or that it is a number
    baselines : two simple models of the same rows
    n_rows : number of training rows
    about : the file names, hold-out scores, versions, seed and date of the fit
    learned : fingerprints of the training rows; None in files of older versions

    Examples
    --------
    >>> import subprocess
    >>> import sys
    >>> import pandas as pd
    >>> import fewknots
    >>> table = pd.DataFrame({"age": [30, 50, 41, 47] * 10, "late": ["no", "yes"] * 20})
    >>> table.to_csv("late.csv", index=False)
    >>> command = "fewknots fit late.csv --target late --inducing 3"
    >>> done = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True)
    >>> model = fewknots.load("late.fewknots")
    >>> model.target, model.positive
    ('late', 'yes')
    """

    estimator: Any
    recipe: Recipe
    labels: Target
    baselines: Baselines | NumberBaselines
    n_rows: int
    about: dict[str, Any]
    learned: LearnedRows | None = None

    @property
    def classifier(self) -> Any:
        """The estimator, under the name for models of classes."""
        return self.estimator

    @property
    def judge(self) -> Judge:
        """The judge that scores its predictions."""
        return JUDGES[self.labels.learns]

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.labels.target

    @property
    def positive(self) -> Any:
        """The positive one of two labels (second column of `predict_proba`); None with more
        labels.
        """
        return self.labels.positive

    @property
    def predicted(self) -> str:
        """What is predicted, in words: "late = yes", "cut (5 classes)", "price (a number)"."""
        if isinstance(self.labels, NumberTarget):
            return f"{self.target} (a number)"
        if self.positive is None:
            return f"{self.target} ({len(self.labels.values):,} classes)"
        return f"{self.target} = {self.positive}"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the estimator's inputs."""
        return self.recipe.feature_names

    def predict_proba(self, table: Any) -> Float[np.ndarray, "N C"]:
        """Probabilities of all labels for each row of a pandas, polars or pyarrow table.

        A row that cannot be scored raises an error.
        """
        rows = arrow_table(table)
        return self.classifier.predict_proba(self.recipe.encode(rows, Place("the table")))

    def predict(self, table: Any, return_std: bool = False) -> Any:
        """The label, or the mean of the number, for each row of such a table.

        return_std : for numbers, return the standard deviations, too
        """
        X = self.recipe.encode(arrow_table(table), Place("the table"))
        if return_std and self.labels.n_classes:
            raise ValueError(
                "return_std is for models of numbers, and this one predicts classes: use "
                "predict_proba."
            )
        options = {"return_std": True} if return_std else {}
        return self.estimator.predict(X, **options)

    def rows(
        self,
        source: Any,
        *,
        labelled: bool = True,
        keep: Any = None,
        strict: bool = False,
        csv: CsvOptions = _AS_RECOGNISED,
    ) -> Iterator[TableRows]:
        """The rows of files, piece by piece.

        source : a path, folder, pattern or list of them
        labelled : whether to read the target too
        keep : the columns of `raw`; None means those that the model uses
        strict : whether a row that cannot be scored raises an error
        csv : format of CSV files, where it should not be recognised
        """
        files = RawFiles(source, csv)
        used = (*self.recipe.names, self.target) if labelled else self.recipe.names
        names = tuple(dict.fromkeys((*used, *(keep or ()))))
        for batch, place in files.batches(names, len(self.feature_names)):
            X, reasons = self.recipe.encode_what_can_be(batch, place)
            y, unseen = None, Counter[str]()
            if labelled:
                target = batch.column(self.target)
                y, unlabelled, unseen = self.labels.codes_where_known(target, place)
                reasons = joined(reasons, unlabelled)
            whole = batch if keep is None else batch.select(list(keep))
            numbers = place.first_row + np.arange(len(X))
            if not reasons:
                yield TableRows(X, y, whole, place, whole, reasons, numbers, unseen)
                continue
            if strict:
                refuse(reasons, place)
            good = np.ones(len(X), bool)
            good[list(reasons)] = False
            raw = whole.filter(pa.array(good))
            y = None if y is None else y[good]
            yield TableRows(X[good], y, raw, place, whole, reasons, numbers[good], unseen)

    def to_onnx(self, path: str | PathLike[str], dtype: str = "float32") -> None:
        """Write the model as an ONNX graph, with as much of its recipe as ONNX can express."""
        from ..export import to_onnx

        to_onnx(self.estimator, path, dtype=dtype, recipe=self.recipe)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, which `fewknots.load` reads."""
        header, arrays = saved_model.contents(self.estimator)
        header["table"] = {
            "recipe": self.recipe.header(),
            "labels": self.labels.header(),
            "n_rows": self.n_rows,
            "about": self.about,
        }
        arrays |= {f"{_BASELINES}{name}": a for name, a in self.baselines.arrays().items()}
        if self.learned is not None:
            header["table"]["learned_rows"] = self.learned.header()
            arrays |= {f"{_LEARNED}{name}": a for name, a in self.learned.arrays().items()}
        restore = partial(TableModel.restored, known=saved_model.classes_of(self.estimator))
        model_format.write(path, type(self), header, arrays, restore)

    @classmethod
    def restored(cls, header: Header, arrays: Arrays, known: KnownClasses) -> "TableModel":
        """The inverse of `save`; nothing in a file is trusted."""
        estimator, table = saved_model.restored(header, arrays, known), header["table"]
        recipe = Recipe.from_header(field(table, "recipe", dict))
        labels = target_from_header(field(table, "labels", dict))
        if estimator._learns != labels.learns:
            raise ModelFileError(
                f"its target is {labels.learns}, but its estimator learns {estimator._learns}."
            )
        n_features = estimator.n_features_in_
        if len(recipe.feature_names) != n_features:
            raise ModelFileError(
                f"its recipe makes {len(recipe.feature_names)} inputs of a row, but its estimator "
                f"takes {n_features}."
            )
        simple = _with_prefix(_BASELINES, arrays)
        baselines: Baselines | NumberBaselines
        if isinstance(labels, NumberTarget):
            baselines = NumberBaselines.restored(simple, n_features)
        else:
            n_classes = len(estimator.classes_)
            if labels.n_classes != n_classes:
                raise ModelFileError(
                    f"it names {labels.n_classes} labels, but its classifier has {n_classes}."
                )
            baselines = Baselines.restored(simple, n_features, n_classes)
        n_rows, about = field(table, "n_rows", int), field(table, "about", dict)
        learned = None
        if table.get("learned_rows") is not None:
            prints = field(table, "learned_rows", dict)
            learned = LearnedRows.restored(prints, _with_prefix(_LEARNED, arrays), n_rows)
        return cls(estimator, recipe, labels, baselines, n_rows, about, learned)


def _with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
