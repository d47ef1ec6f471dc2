"""The server that docs/serving.md shows, run as it stands there."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from fewknots import GPClassifier

from ..waiting import HANGS

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_the_pages_server_answers(moons, tmp_path):
    X, y = moons
    classifier = GPClassifier(n_inducing=5, learn_kernel=False, learn_inducing=False).fit(X, y)
    classifier.to_onnx(tmp_path / "flights.onnx")
    (program,) = re.findall(r"```python\n(import json\n.*?)```", PAGE.read_text(), re.DOTALL)
    port = free_port()
    program = program.replace("8000", str(port))
    rows = X[:5].astype(np.float32).tolist()
    server = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        ends = time.monotonic() + HANGS
        while True:
            try:
                body = json.dumps(rows).encode()
                with urllib.request.urlopen(f"http://127.0.0.1:{port}", body) as reply:
                    found = json.load(reply)
                break
            except OSError:
                assert time.monotonic() < ends
                assert server.poll() is None, server.stderr.read()
                time.sleep(0.1)
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    np.testing.assert_allclose(found, classifier.predict_proba(rows)[:, 1], atol=1e-5)
