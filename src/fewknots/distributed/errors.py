"""Dask's errors explained to a user who fits a model, with advice how to continue."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from distributed import CancelledError, Client, KilledWorker

from ..exceptions import ClusterError

_GONE = (CancelledError, FutureCancelledError, CommClosedError)


@contextmanager
def translate_errors(client: Client, when: str, checkpoint: Any) -> Iterator[None]:
    """Within the block a cluster error becomes a ClusterError: when, what, and what to do now."""
    try:
        yield
    except _GONE as error:
        raise ClusterError(f"{when}: {_lost(client, error)}{_how_to_go_on(checkpoint)}") from error
    except TimeoutError as error:
        if client.status == "running":  # not Dask's error, but for example of the file storage
            raise
        raise ClusterError(f"{when}: {_lost(client, error)}{_how_to_go_on(checkpoint)}") from error
    except KilledWorker as error:
        raise ClusterError(
            f"{when}: the same partitions killed several workers in a row ({error}). Most likely "
            "these had too little memory: use smaller partitions or workers with more. A worker "
            "without fewknots that joined late dies in the same way; the workers' logs say it."
            f"{_how_to_go_on(checkpoint)}"
        ) from error
    except ClusterError as error:
        raise ClusterError(f"{when}: {error}{_how_to_go_on(checkpoint)}") from error


def _lost(client: Client, error: BaseException) -> str:
    address = client.scheduler.addr if client.scheduler else "?"
    return f"the scheduler at {address} went away ({type(error).__name__})."


def _how_to_go_on(checkpoint: Any) -> str:
    if checkpoint is None:
        return (
            " Fit again on this cluster or on a new one; with checkpoint='folder' a fit can be "
            "resumed where it stopped."
        )
    return (
        f" What was learned is kept in {str(checkpoint)!r}: fit again with resume=True, on this "
        "cluster or on a new one."
    )
