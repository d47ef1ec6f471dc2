"""The line that says how a fit goes, in a real notebook kernel that has no ipywidgets."""

import os

import pytest

from fewknots import progress

jupyter_client = pytest.importorskip("jupyter_client")

_TIMEOUT = 240
CELL = """
import sys
sys.modules["ipywidgets"] = None  # as if it were not installed
import numpy as np
from fewknots import GPClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
clf = GPClassifier(n_inducing=5, max_iter=30, verbose=1, random_state=0).fit(X, X[:, 0] > 0)
print("iterations", clf.n_iter_)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The messages that a front end gets while the cell runs."""
    folder = tmp_path_factory.mktemp("jupyter")
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    env = os.environ | dict.fromkeys(places, str(folder))
    manager = jupyter_client.KernelManager(kernel_name="python3", ip="127.0.0.1")
    manager.start_kernel(env=env)
    client = manager.client()
    found = []
    try:
        client.start_channels()
        client.wait_for_ready(timeout=_TIMEOUT)
        reply = client.execute_interactive(CELL, timeout=_TIMEOUT, output_hook=found.append)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return found


def test_a_notebook_shows_progress_and_asks_for_nothing(outputs):
    shown = [
        m["content"] for m in outputs if m["msg_type"] in ("display_data", "update_display_data")
    ]
    texts = [content["data"]["text/plain"] for content in shown]
    assert texts[0] == "compiling, 0 s"
    assert "iteration" in texts[-1]
    assert "bound" in texts[-1]
    said = [m["content"].get("text", "") for m in outputs if m["msg_type"] == "stream"]
    last = int("".join(said).split("iterations ")[1].split()[0])
    assert f"iteration {last}," in texts[-1]
    shown_to_user = [m["content"] for m in outputs if m["msg_type"] != "execute_input"]
    assert "ipywidgets" not in str(shown_to_user)


def test_it_is_one_line_that_is_replaced(outputs):
    shown = [m for m in outputs if m["msg_type"] == "display_data"]
    assert len(shown) == 1
    line = shown[0]["content"]["transient"]["display_id"]
    updates = [m["content"] for m in outputs if m["msg_type"] == "update_display_data"]
    assert updates
    assert {update["transient"]["display_id"] for update in updates} == {line}


def test_outside_of_a_kernel_it_is_a_terminal():
    assert not progress._in_notebook()
