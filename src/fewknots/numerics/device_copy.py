"""Arrays that are brought to a device once and stay there for the next call.

A posterior belongs to the host: NumPy arrays that are saved and pickled. To predict, JAX needs them
on its device, and to bring them there on every call takes longer than a prediction of few rows.
"""

from collections.abc import Callable
from typing import Any

import jax

from .precision import chosen_device

_COPY = "_device_copy"


class KeepsDeviceCopy:
    """For objects that do not change: a copy of their arrays on the device, made when needed.

    It is not part of the object: pickles, copies and files are without it.
    """

    def device_copy(self, arrays: Callable[[], Any]) -> Any:
        """The pytree that `arrays` returns, as arrays on the device of this thread and block."""
        device = chosen_device()
        kept = self.__dict__.get(_COPY)
        if kept is None or kept[0] != device:
            # Two threads may both come here: each makes a whole copy, and one of them stays.
            kept = device, jax.device_put(arrays())
            self.__dict__[_COPY] = kept  # also where the object is frozen
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _COPY}
