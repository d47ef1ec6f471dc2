"""The interface of one column's encoding, and of what learns it.

Values are a pyarrow array; numbers and booleans may also be a NumPy array of float64.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...data.row_checks import Reasons
from ...data.sources import Place
from .profile import Holds


@runtime_checkable
class Column(Protocol):
    """How one column of a table becomes one or more features."""

    @property
    def name(self) -> str:
        """The column in the table."""

    @property
    def kind(self) -> str:
        """What the column holds: "number", "boolean", "ordered", "date" or "text"."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its features."""

    def encode(self, column: Any, features: np.ndarray, place: Place) -> Reasons:
        """Write the features of these rows to an array that has a column for each feature.

        Rows for which this is not possible get a reason, and may get NaN. If a value is missing
        and none was in the rows of the fit, the first feature is NaN.
        """

    def header(self) -> dict[str, Any]:
        """The encoding as JSON, for the method `from_header` of its class."""


@runtime_checkable
class Learner(Protocol):
    """Learns the encoding of one column from all its rows, piece by piece."""

    @property
    def kind(self) -> str:
        """The kind of the column; "nothing" until it has a value."""

    def add(self, column: Any, place: Place) -> None:
        """Learn from these rows."""

    def learned(self, n_rows: int) -> Column | str:
        """The column's encoding, or the reason why it cannot be used."""

    def holds(self) -> Holds:
        """A summary of the contents, for the user."""

    def sample(self, column: Any, place: Place) -> np.ndarray:
        """These rows, which were passed to `add`, as one number each, NaN for a gap."""
