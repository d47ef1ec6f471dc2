"""scikit-learn's callbacks (1.9 and later, experimental): `estimator.set_callbacks(...)`.

Where scikit-learn has none, everything here does nothing. Each report of a fit is a task of its own
below the fit's; a callback that asks to stop ends the fit there.
"""

from collections.abc import Callable
from typing import Any

from ..progress import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks."""

    def with_callbacks(method):
        """Nothing to set up or tear down."""
        return method


Task = Callable[[Progress], bool]
# Set by scikit-learn during a fit, and needed by it after one that failed.
BOOKKEEPING = ("_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")


def begin_fit(estimator: Any, X: Any, y: Any) -> Task | None:
    """Tell callbacks that a fit begins; what to call with each progress of it."""
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    fit = estimator._init_callback_context(max_subtasks=None)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def task(now: Progress) -> bool:
        step = fit.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        told = {"progress": now}
        return bool(step.call_on_fit_task_end(estimator=estimator, X=X, y=y, metadata=told))

    return task


def end_fit(estimator: Any, X: Any, y: Any) -> None:
    """Tell callbacks that it ended."""
    if getattr(estimator, "_skl_callbacks", None):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator, X=X, y=y)
