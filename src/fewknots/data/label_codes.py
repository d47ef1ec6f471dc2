"""Two labels, found while reading, as codes 0 and 1.

A file sorted by label shows its second one at the very end, so codes are given in the order of
appearance; which of the two is the positive class is settled when everything has been read.
"""

from typing import Any

import numpy as np

from ..exceptions import DataError
from .label_values import check_classes, plain, shown
from .sources import Place


class LabelCodes:
    """The labels seen so far. `allowed`, if given, are the only two there may be."""

    def __init__(self, target_name: str, allowed: np.ndarray | None) -> None:
        self._target_name = target_name
        self._allowed = None if allowed is None else np.unique(allowed)
        if self._allowed is not None and len(self._allowed) != 2:
            raise ValueError(f"classes has to name two labels, not {len(self._allowed)}.")
        self._seen: list[Any] = []
        self._dtypes: list[np.dtype] = []

    def codes(self, labels: np.ndarray, place: Place) -> np.ndarray:
        """0 where a label is the first ever seen, 1 where it is the second."""
        codes = np.full(len(labels), -1, np.int8)
        for code, label in enumerate(self._seen):
            codes[labels == label] = code
        while (unknown := codes < 0).any():
            row = int(np.argmax(unknown))
            label = plain(labels[row])
            self._admit(label, labels.dtype, place.row(row))
            codes[labels == label] = len(self._seen) - 1
        return codes

    def classes(self) -> np.ndarray:
        """Both labels, sorted."""
        if self._allowed is not None:
            return self._allowed
        if len(self._seen) < 2:
            raise self._only(self._seen[0])
        labels = np.array(sorted(self._seen), np.result_type(*self._dtypes))
        check_classes(labels)
        return labels

    def order(self) -> np.ndarray:
        """Which class (0 or 1, sorted) each code stands for."""
        first_is_larger = self._seen[0] == self.classes()[1]
        return np.array([1, 0] if first_is_larger else [0, 1])

    def check_weights(self, class_totals: np.ndarray) -> None:
        """Rows of weight zero do not count, so both classes need some weight."""
        if self._allowed is None and (class_totals == 0.0).any():
            if not class_totals.any():
                raise DataError("every row has weight 0: there is nothing to learn from.")
            raise self._only(self.classes()[int(np.argmax(class_totals))])

    def _admit(self, label: Any, dtype: np.dtype, place: Place) -> None:
        known = self._seen if self._allowed is None else list(self._allowed)
        third = len(known) == 2 and label not in known
        mixed = bool(self._seen) and isinstance(label, str) != isinstance(self._seen[0], str)
        if third or mixed:
            others = " and ".join(shown(value) for value in known)
            reason = "text and numbers mixed" if mixed and not third else "a third label"
            raise DataError(
                f"{place}: {self._target_name} is {shown(label)}, but the other labels are "
                f"{others}: {reason}. Only two classes can be told apart; leave out the others' "
                f"rows or join classes.{place.note}"
            )
        self._seen.append(label)
        self._dtypes.append(dtype)

    def _only(self, label: Any) -> DataError:
        return DataError(
            f"{self._target_name} is {shown(label)} in every row that counts: there have to be "
            "two classes to learn the difference."
        )
