"""Checks that all processes of a cluster run the same versions of fewknots and JAX.

A worker that joins later is checked too, by every task that it runs (workers.py).
"""

import jax

from distributed import Client, get_worker

from ..exceptions import ClusterError
from ..extras import how_to_install
from ..version import __version__

Versions = dict[str, str]
# As text: Dask sends functions by name, and a process without fewknots could not find ours.
_QUESTION = "{name: __import__(name).__version__ for name in ('fewknots', 'jax')}"


def versions_here() -> Versions:
    """Versions in this process."""
    return {"fewknots": __version__, "jax": jax.__version__}


def check_here(expected: Versions) -> None:
    """Raise an error if this worker's versions differ from the client's."""
    for name, version in versions_here().items():
        if version != expected[name]:
            who = f"worker {get_worker().address}"
            raise ClusterError(_mismatch(who, name, version, expected[name]))


def check_workers(client: Client) -> Versions:
    """Check all present workers, and the scheduler, which deserialises every task."""
    expected = versions_here()
    answers = client.run(eval, _QUESTION, on_error="return")
    found = {f"worker {address}": answer for address, answer in answers.items()}
    try:
        found["the scheduler"] = client.run_on_scheduler(eval, _QUESTION)
    except ImportError as error:
        found["the scheduler"] = error
    for who, answer in found.items():
        if isinstance(answer, BaseException):
            raise ClusterError(
                f"{who} cannot import fewknots ({answer}). Install the client's version, "
                f"{expected['fewknots']}, in its environment: {how_to_install('dask')}."
            ) from answer
        for name, version in answer.items():
            if version != expected[name]:
                raise ClusterError(_mismatch(who, name, version, expected[name]))
    return expected


def _mismatch(who: str, name: str, version: str, expected: str) -> str:
    command = f"pip install '{name}=={expected}'"
    if name == "fewknots":
        command = f"{how_to_install('dask')}, at version {expected}"
    return (
        f"{who} runs {name} {version}, the client {name} {expected}. Install the same version "
        f"everywhere: {command}."
    )
