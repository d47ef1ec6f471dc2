r"""The posterior of the local method: the training rows, and a small Gaussian process for each
query.

It is not a Gaussian at a few points: for every query it finds the nearest rows and their sites and
predicts from them. It contains the rows themselves, and so does a saved model.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from ..data.blocks import map_blocks
from ..data.row_checks import check_finite
from ..exceptions import DataError
from ..inference.sites import Rows
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.linalg import one_batch_of_solves
from ..numerics.precision import (
    KeepsDeviceCopy,
    computing_in,
    current_platform,
    for_platform,
    one_lapack_thread,
    usable_cores,
    with_these_settings,
)
from ..posterior import Then, as_they_are
from .model import LocalModel, factorises_nothing, latent
from .neighbours import Metric, Search, without

_FEW_QUERIES = 4
# Cost of calling a compiled function, in queries: a GPU does hundreds in that time.
_CALL = {"cpu": 4, "gpu": 1024}
_COVARIANCES = {
    "cpu": 2**20,
    "gpu": 2**26,
}  # numbers in the neighbourhoods that are solved together
_ONE_BUILDS = Lock()  # guards the index of all rows


@dataclass(frozen=True)
class LocalPosterior(KeepsDeviceCopy):
    """Rows, their labels and weights, and the learned model."""

    kernel: Kernel
    points: Float[np.ndarray, "N D"]
    labels: np.ndarray  # signs of two classes, codes of more, or numbers
    weights: Float[np.ndarray, " N"]
    mean: Float[np.ndarray, "*L"]  # of f, or of each function
    sharpness: Float[np.ndarray, ""]
    n_neighbors: int
    rule: str
    likelihood: Likelihood
    n_slots: int = 1  # slots of a neighbourhood with several latent functions (coupled.py)

    def arrays(self) -> dict[str, np.ndarray]:
        names = ("points", "weights", "mean", "sharpness")
        return {name: getattr(self, name) for name in names} | {
            label_name(self.likelihood): self.labels
        }

    def settings(self) -> dict[str, Any]:
        """What is needed to restore this posterior besides the arrays and the kernel."""
        return {"n_neighbors": self.n_neighbors, "rule": self.rule, "n_slots": self.n_slots}

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance of every latent function at each row."""
        if len(X) == 0:
            none = np.empty((self.likelihood.n_latent, 0), self.points.dtype)
            return none, none
        mean, variance = self.mapped(as_they_are, X)
        return mean, variance

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """Apply a function to one block of queries at a time."""
        return self._mapped(then, X.astype(self.points.dtype, copy=False))

    def without_itself(
        self, rows: Rows
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance at each of the posterior's rows, predicted from all its other rows.

        rows : the rows of the fit, in any order.
        """
        numbers = self._places_of(rows)
        mean, variance = self._mapped(as_they_are, self.points[numbers], numbers)
        return mean, variance

    def _places_of(self, rows: Rows) -> Int[np.ndarray, " N"]:
        """The place of each of these rows among the stored rows, which must be the same rows."""
        dtype = self.points.dtype
        held, asked = (
            np.column_stack([X, y]).astype(dtype) + dtype.type(0.0)  # zero has one sign
            for X, y in ((self.points, self.labels), (rows.X, rows.y))
        )
        if len(held) == len(asked):
            there, here = (np.lexsort(columns.T) for columns in (held, asked))
            if np.array_equal(held[there], asked[here]):
                places = np.empty(len(asked), np.int64)
                places[here] = there
                return places
        raise DataError(
            f"these {len(asked)} rows are not those that the model holds, which are "
            f"{len(held)}: leave_one_out takes the rows of the fit, but those of weight zero and "
            "those held out by validation_fraction."
        )

    def _mapped(
        self, then: Then, X: Float[np.ndarray, "N D"], own: Int[np.ndarray, " N"] | None = None
    ) -> tuple[np.ndarray, ...]:
        """`own`: numbers of queries that are stored rows; none is its own neighbour.

        Where nothing is factorised, each core of a CPU computes a block at the same time.
        """
        dtype = self.points.dtype
        check_finite((X.T,), dtype)  # values too large for the dtype have no neighbours
        k = min(self.n_neighbors, len(self.points) - (own is not None))
        free = current_platform() == "cpu" and self._factorises_nothing
        with computing_in(dtype), nullcontext() if free else one_lapack_thread():
            with _ONE_BUILDS:
                index = self._search
            model, rows = self.device_copy(lambda: (self.model, self.rows))

            def of_block(queries, near):
                with nullcontext() if free else one_batch_of_solves:
                    fixed = self.rule, self.likelihood
                    found = latent(*fixed, model, rows, queries, near, self.n_slots)
                    return then(*jax.block_until_ready(found))

            queries = self._metric.coordinates(X)
            if own is None:
                near = index.nearest(queries, k)
            else:
                near = without(own, index.nearest(queries, k + 1))
            return map_blocks(
                with_these_settings(of_block) if free else of_block,
                X,
                near,
                sizes=(_FEW_QUERIES, block_size(k, self.n_slots, X.shape[1])),
                call=for_platform(_CALL),
                threads=usable_cores() if free else 1,
            )

    def extended(self, rows: Rows) -> "LocalPosterior":
        """The posterior with more rows."""
        dtype = self.points.dtype
        return replace(
            self,
            points=np.concatenate([self.points, rows.X.astype(dtype)]),
            labels=np.concatenate([self.labels, rows.y.astype(self.labels.dtype)]),
            weights=np.concatenate([self.weights, rows.weights.astype(dtype)]),
        )

    @property
    def model(self) -> LocalModel:
        """The learned model."""
        return LocalModel(self.kernel, self.mean, self.sharpness)

    @property
    def rows(self) -> Rows:
        """The rows in the form used by training."""
        return Rows(self.points, self.labels.astype(self.points.dtype), self.weights)

    @property
    def _factorises_nothing(self) -> bool:
        return factorises_nothing(self.rule, self.likelihood, self.points.dtype)

    @cached_property
    def _search(self) -> Search:
        return self._metric.within_reach(self.points)

    @cached_property
    def _metric(self) -> Metric:
        return Metric(self.kernel, self.points.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        """The state without values that can be computed again."""
        made = "_search", "_metric"
        return {name: value for name, value in super().__getstate__().items() if name not in made}


def label_name(likelihood: Likelihood) -> str:
    """Name of the rows' labels in a file."""
    if likelihood.targets == "numbers":
        return "numbers"
    return "signs" if likelihood.n_latent == 1 else "codes"


def label_dtype(likelihood: Likelihood, dtype: Any) -> np.dtype:
    """The dtype of the rows' labels: for numbers that of the fit."""
    kept = {"numbers": dtype, "signs": np.int8, "codes": np.int16}
    return np.dtype(kept[label_name(likelihood)])


def block_size(k: int, n_slots: int, n_inputs: int) -> int:
    """How many neighbourhoods of k rows are solved together: as many as fit into a processor's
    cache.

    The rows themselves count by half, since they are read only a few times: with 784 inputs they
    are larger than their covariances.
    """
    of_a_row = for_platform({"cpu": n_inputs // 2, "gpu": 1})
    numbers = k * max(k, n_slots**2, of_a_row)  # of the covariances, or of coupled.py's columns
    return int(2 ** np.clip(np.floor(np.log2(for_platform(_COVARIANCES) / numbers)), 4, 12))
