"""The demo, as a newcomer runs it."""

import subprocess
import sys

from matplotlib.image import imread

from .waiting import HANGS


def test_the_demo_reports_and_draws(tmp_path):
    picture = tmp_path / "new folder" / "banana.png"
    done = subprocess.run(
        [sys.executable, "-m", "fewknots.demo", "--out", str(picture)],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    assert "iteration" in done.stderr  # progress
    figures = {line[:18].strip(): line[19:].split()[0] for line in done.stdout.splitlines()[1:]}
    assert float(figures["hold-out error"]) < 0.125
    assert float(figures["hold-out NLP"]) < 0.27
    assert -140 < float(figures["evidence bound"]) < -120
    pixels = imread(picture)
    assert pixels.shape == (900, 1125, 4)
    assert pixels.std() > 0.1  # not a blank sheet
