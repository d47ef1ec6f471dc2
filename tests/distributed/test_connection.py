"""Clients: of a scheduler somewhere, of workers on this machine."""

import os

import pytest

from fewknots.distributed.connection import connected
from fewknots.exceptions import ClusterError

from .processes import free_port

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.parametrize(
    ("address", "why"),
    [("tcp://127.0.0.1:{port}", "after 5 s"), ("nowhere", "missing port number")],
)
def test_a_wrong_address_is_told_soon(address, why):
    """After five seconds, not after Dask's thirty; at once if there is nobody to ask."""
    address = address.format(port=free_port())
    message = rf"no Dask scheduler answers at {address} .*{why}.*tcp://host"
    with pytest.raises(ClusterError, match=message), connected(address):
        pass


def test_local_workers_are_gone_afterwards():
    with connected(workers=2) as client:
        found = client.run(os.getpid).values()
        assert len(set(found) - {os.getpid()}) == 2
    for process in found:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_either_an_address_or_workers():
    message = "either the scheduler's address or the number"
    with pytest.raises(ValueError, match=message), connected("tcp://127.0.0.1:8786", 2):
        pass
