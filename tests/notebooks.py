"""A notebook kernel, and the messages that a front end gets from its cells."""

import os
from contextlib import contextmanager

import pytest

jupyter_client = pytest.importorskip("jupyter_client")

_TIMEOUT = 240


@contextmanager
def notebook(folder):
    """A function that runs a cell in a kernel of its own, and returns the messages."""
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    env = os.environ | dict.fromkeys(places, str(folder))
    manager = jupyter_client.KernelManager(kernel_name="python3", ip="127.0.0.1")
    manager.start_kernel(env=env)
    client = manager.client()

    def run(cell):
        found = []
        reply = client.execute_interactive(cell, timeout=_TIMEOUT, output_hook=found.append)
        assert reply["content"]["status"] == "ok", reply["content"]
        return found

    try:
        client.start_channels()
        client.wait_for_ready(timeout=_TIMEOUT)
        yield run
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def shown(messages):
    """What the cells display, by MIME type, results included; updates are further entries."""
    kinds = ("display_data", "update_display_data", "execute_result")
    return [m["content"]["data"] for m in messages if m["msg_type"] in kinds]
