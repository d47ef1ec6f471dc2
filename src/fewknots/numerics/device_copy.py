"""Arrays that are copied to a device once and stay there for the next call.

A posterior is kept on the host, as NumPy arrays that can be saved and pickled. To predict, JAX
needs them on its device, and copying them on every call takes longer than predicting a few rows.
"""

from collections.abc import Callable
from typing import Any

import jax

from .precision import chosen_device

_COPY = "_device_copy"


class KeepsDeviceCopy:
    """Mixin for immutable objects: keeps a copy of their arrays on the device, made when needed.

    The copy is not part of the object's state: pickles and copies do not contain it.
    """

    def device_copy(self, arrays: Callable[[], Any]) -> Any:
        """The pytree that `arrays` returns, on the device that is chosen for this thread."""
        device = chosen_device()
        kept = self.__dict__.get(_COPY)
        if kept is None or kept[0] != device:
            # Two threads may both come here: each makes a whole copy, and one copy is kept.
            kept = device, jax.device_put(arrays())
            self.__dict__[_COPY] = kept  # works for frozen dataclasses too
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _COPY}
