"""Everyone on a cluster must run the same fewknots and JAX, or sums would not add up.

A worker that joins later is asked too, by every task it is given (workers.py).
"""

from typing import Any

import jax

from ..exceptions import ClusterError

Versions = dict[str, str]


def versions_here() -> Versions:
    """What this process runs."""
    from .. import __version__

    return {"fewknots": __version__, "jax": jax.__version__}


def check_here(expected: Versions) -> None:
    """Refuse to compute with other versions than the client's."""
    for name, version in versions_here().items():
        if version != expected[name]:
            raise ClusterError(_mismatch("this worker", name, version, expected[name]))


def check_workers(client: Any) -> Versions:
    """Ask every worker that there is."""
    expected = versions_here()
    for worker, found in client.run(versions_here, on_error="return").items():
        if isinstance(found, BaseException):
            raise ClusterError(
                f"worker {worker} cannot import fewknots ({found}). Install fewknots "
                f"{expected['fewknots']} in the workers' environment: pip install 'fewknots[dask]'."
            ) from found
        for name, version in found.items():
            if version != expected[name]:
                raise ClusterError(_mismatch(f"worker {worker}", name, version, expected[name]))
    return expected


def _mismatch(who: str, name: str, version: str, expected: str) -> str:
    return (
        f"{who} runs {name} {version}, the client {name} {expected}. Install the same version "
        f"everywhere: pip install '{name}=={expected}'."
    )
