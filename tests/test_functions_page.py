"""docs/functions.md runs as it stands there."""

import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def test_the_page(capsys):
    found = {"__name__": "functions"}
    page = (ROOT / "docs" / "functions.md").read_text("utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "functions.md", "exec"), found)
    assert found["slope"].shape == (200, 10, 1)
    ends = np.diff(found["draws"](found["rows"]), axis=0)
    slope = np.asarray(found["slope"])[..., 0]
    along = np.cumsum(0.5 * (slope[1:] + slope[:-1]), axis=0)
    np.testing.assert_allclose(np.cumsum(ends, axis=0), along * (10.0 / 199.0), atol=0.01)
    assert len(set(found["batch"])) == 5
    span = float(re.search(r"(\S+) ± ", capsys.readouterr().out)[1])
    assert 1.8 < span < 2.4  # of a sine
