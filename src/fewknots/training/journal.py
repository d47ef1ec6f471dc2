"""Every value and gradient an optimiser was given, so that it can be led back to where it was.

SciPy's L-BFGS-B cannot be stopped and taken up: its memory is its own. But it is a function of what
it is told. Told the same values and gradients again, it asks for the same points, arrives in the
same state, and goes on as if nothing had been in between, at no cost but a little arithmetic.
"""

from typing import Any

import numpy as np

from ..optimize.lbfgsb import flatten, unflattener


class Journal:
    """A list of (value, gradient), read from its start while it lasts and then written."""

    def __init__(
        self, values: list[float] | None = None, gradients: list[np.ndarray] | None = None
    ):
        self._values = values or []
        self._gradients = gradients or []
        self._read = 0

    @property
    def replaying(self) -> bool:
        """Whether the next answer is known."""
        return self._read < len(self._values)

    def next(self, like: Any) -> tuple[float, Any]:
        """The next known answer, its gradient shaped like the parameters."""
        value, gradient = self._values[self._read], self._gradients[self._read]
        self._read += 1
        return value, unflattener(like)(gradient)

    def add(self, value: float, gradient: Any) -> None:
        """A new answer."""
        self._values.append(value)
        self._gradients.append(flatten(gradient))
        self._read += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        width = len(self._gradients[0]) if self._gradients else 0
        gradients = np.array(self._gradients).reshape(len(self._values), width)
        return {"journal.values": np.array(self._values), "journal.gradients": gradients}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> "Journal":
        """From a checkpoint."""
        return cls(arrays["journal.values"].tolist(), list(arrays["journal.gradients"]))
