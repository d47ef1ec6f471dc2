"""A classifier together with its recipe: what `fewknots fit` saves.

`GPClassifier` takes numbers. A table has words, dates and gaps, and predictions should work for the
raw table. So the model file also holds how each column becomes numbers (recipe/), which value of
the target is predicted, and two simple models to compare with.

Of these `Baselines` the *majority class* knows only how frequent the classes are: it gives every
row the same probability. *Logistic regression* is linear in the standardised inputs. So they can be
scored on any rows too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.special import expit

from ..data.csv_dialect import CsvOptions
from ..data.iterator_source import arrow_table
from ..data.row_checks import Reasons, joined, refuse
from ..data.sources import Place
from ..data.table_files import RawFiles
from ..estimators import GPClassifier, saved_model
from ..exceptions import ModelFileError
from ..files import model_format
from ..files.container import Arrays, Header
from ..files.header_values import KnownClasses
from ..files.model_format import field
from .learned_rows import LearnedRows
from .recipe import Labels, Recipe

MAJORITY, LOGISTIC = "majority class", "logistic regression"
_ITERATIONS = 1000
_BASELINES, _LEARNED = "baselines.", "learned_rows."
_AS_RECOGNISED = CsvOptions()


class Baselines(NamedTuple):
    """The parameters of the two models."""

    positive_rate: float
    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    coef: Float[np.ndarray, " D"]
    intercept: float

    @classmethod
    def fitted(
        cls,
        X: Float[np.ndarray, "N D"],
        y: np.ndarray,
        weights: Float[np.ndarray, " N"] | None = None,
    ) -> "Baselines":
        """Learn from rows with labels 0 and 1."""
        import warnings

        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        rate = float(np.average(y, weights=weights))
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        if len(np.unique(y)) < 2:  # the sample has only one class
            log_odds = float(np.log((rate + 1e-9) / (1.0 - rate + 1e-9)))
            return cls(rate, mean, scale, np.zeros(X.shape[1]), log_odds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # accurate enough to compare with
            linear = LogisticRegression(max_iter=_ITERATIONS)
            linear.fit((X - mean) / scale, y, sample_weight=weights)
        return cls(rate, mean, scale, linear.coef_[0], float(linear.intercept_[0]))

    def probabilities(self, X: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, " N"]]:
        """Probability of the positive class by each model."""
        latent = (X - self.mean) / self.scale @ self.coef + self.intercept
        return {MAJORITY: np.full(len(X), self.positive_rate), LOGISTIC: expit(latent)}

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters as arrays for a model file."""
        return {name: np.asarray(value, np.float64) for name, value in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: dict[str, Any], n_features: int) -> "Baselines":
        """The inverse of `arrays`; nothing in a file is trusted."""
        shapes = {"positive_rate": (), "intercept": ()}
        for name in cls._fields:
            array, shape = arrays[name], shapes.get(name, (n_features,))
            if array.dtype != np.float64 or array.shape != shape:
                raise ModelFileError(
                    f"the baselines' {name!r} is {array.dtype} of shape {array.shape}, not float64 "
                    f"of shape {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise ModelFileError(f"the baselines' {name!r} holds NaN or infinity.")
        return cls(
            float(arrays["positive_rate"]),
            arrays["mean"],
            arrays["scale"],
            arrays["coef"],
            float(arrays["intercept"]),
        )


class TableRows(NamedTuple):
    """Some consecutive rows of a table, raw and encoded.

    Some rows cannot be scored: a value that the model needs may be missing, or may not be a number.
    `X`, `y` and `raw` contain only the rows that can be scored.
    """

    X: Float[np.ndarray, "N D"]
    y: np.ndarray | None  # 1 for the positive label, 0 for the other; None without labels
    raw: pa.RecordBatch
    place: Place
    whole: pa.RecordBatch  # all rows
    reasons: Reasons  # why some rows cannot be scored, by their number in `whole`
    numbers: np.ndarray  # of the rows of `X` in their file, from 0


@dataclass(frozen=True)
class TableModel:
    """A fitted classifier that takes raw tables.

    classifier : the Gaussian process; its `classes_` are (negative, positive)
    recipe : converts columns to its inputs
    labels : the target column and its two values
    baselines : majority class and logistic regression on the same rows
    n_rows : number of training rows
    about : the file names, hold-out scores, versions, seed and date of the fit
    learned : fingerprints of the training rows; None in files of older versions
    """

    classifier: GPClassifier
    recipe: Recipe
    labels: Labels
    baselines: Baselines
    n_rows: int
    about: dict[str, Any]
    learned: LearnedRows | None = None

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.labels.target

    @property
    def positive(self) -> Any:
        """The value of the target whose probability is in the second column."""
        return self.labels.positive

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the classifier's inputs."""
        return self.recipe.feature_names

    def predict_proba(self, table: Any) -> Float[np.ndarray, "N 2"]:
        """Probabilities of both labels for each row of a pandas, polars or pyarrow table.

        A row that cannot be scored raises an error.
        """
        rows = arrow_table(table)
        return self.classifier.predict_proba(self.recipe.encode(rows, Place("the table")))

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
            y = None
            if labelled:
                y, unlabelled = self.labels.codes_where_known(batch.column(self.target), place)
                reasons = joined(reasons, unlabelled)
            whole = batch if keep is None else batch.select(list(keep))
            numbers = place.first_row + np.arange(len(X))
            if not reasons:
                yield TableRows(X, y, whole, place, whole, reasons, numbers)
                continue
            if strict:
                refuse(reasons, place)
            good = np.ones(len(X), bool)
            good[list(reasons)] = False
            raw = whole.filter(pa.array(good))
            y = None if y is None else y[good]
            yield TableRows(X[good], y, raw, place, whole, reasons, numbers[good])

    def to_onnx(self, path: str | PathLike[str], dtype: str = "float32") -> None:
        """Write the model as an ONNX graph, with as much of its recipe as ONNX can express."""
        from ..export import to_onnx

        to_onnx(self.classifier, path, dtype=dtype, recipe=self.recipe)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, which `fewknots.load` reads."""
        header, arrays = saved_model.contents(self.classifier)
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
        restore = partial(TableModel.restored, known=saved_model.classes_of(self.classifier))
        model_format.write(path, type(self), header, arrays, restore)

    @classmethod
    def restored(cls, header: Header, arrays: Arrays, known: KnownClasses) -> "TableModel":
        """The inverse of `save`; nothing in a file is trusted."""
        classifier, table = saved_model.restored(header, arrays, known), header["table"]
        if not isinstance(classifier, GPClassifier):
            raise ModelFileError("it has a recipe for tables, but is no classifier.")
        recipe = Recipe.from_header(field(table, "recipe", dict))
        labels = Labels.from_header(field(table, "labels", dict))
        n_features = classifier.n_features_in_
        if len(recipe.feature_names) != n_features:
            raise ModelFileError(
                f"its recipe makes {len(recipe.feature_names)} inputs of a row, but its classifier "
                f"takes {n_features}."
            )
        baselines = Baselines.restored(_with_prefix(_BASELINES, arrays), n_features)
        n_rows, about = field(table, "n_rows", int), field(table, "about", dict)
        learned = None
        if table.get("learned_rows") is not None:
            prints = field(table, "learned_rows", dict)
            learned = LearnedRows.restored(prints, _with_prefix(_LEARNED, arrays), n_rows)
        return cls(classifier, recipe, labels, baselines, n_rows, about, learned)


def _with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
