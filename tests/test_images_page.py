"""docs/images.md: its code runs as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    found = {"__name__": "images"}
    page = (ROOT / "docs" / "images.md").read_text("utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "images.md", "exec"), found)
    assert float(capsys.readouterr().out.split()[0]) > 0.95
    rows = found["X_test"][:20]
    wanted = found["model"].predict_proba(rows)
    np.testing.assert_array_equal(found["again"].predict_proba(rows), wanted)
    session = onnxruntime.InferenceSession("digits.onnx")
    exported = session.run(["probabilities"], {"X": rows.astype(np.float32)})[0]
    np.testing.assert_allclose(exported, wanted, atol=1e-5)
