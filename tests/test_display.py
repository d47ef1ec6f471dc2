"""The line that says how a fit goes, in a real notebook kernel that has no ipywidgets."""

import re

import pytest

from fewknots import progress

from .notebooks import notebook

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
    with notebook(tmp_path_factory.mktemp("jupyter")) as run:
        return run(CELL)


def test_a_notebook_shows_progress_and_asks_for_nothing(outputs):
    shown = [
        m["content"] for m in outputs if m["msg_type"] in ("display_data", "update_display_data")
    ]
    texts = [content["data"]["text/plain"] for content in shown]
    assert texts[0] == "compiling, 0 s"
    bars = [content["data"]["text/html"] for content in shown]
    assert bars[0] == '<div><progress max="1"></progress> compiling, 0 s</div>'
    assert re.search(r'<progress value="[01]\.\d{3}" max="1">', bars[-1])
    assert texts[-1] in bars[-1]
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
