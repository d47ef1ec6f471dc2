"""Makes numbers/scattering.json: `python tests/golden/kymatio_scattering.py`.

Needs Kymatio 0.3.0 and nothing of fewknots: pip install kymatio==0.3.0 "scipy<1.17" in an
environment of its own. Coefficients of one image of 16 x 16 pixels, J = 3, eight angles, in
Kymatio's order: the mean, waves by scale and angle, and after them each pair of waves.
"""

import json
from pathlib import Path

import kymatio
import numpy as np
from kymatio.numpy import Scattering2D

image = np.random.default_rng(0).random((16, 16))
found = Scattering2D(J=3, shape=(16, 16), L=8)(image)
held = {
    "kymatio": kymatio.__version__,
    "J": 3,
    "L": 8,
    "image": image.tolist(),
    "coefficients": np.round(found, 9).tolist(),
}
path = Path(__file__).parent / "numbers" / "scattering.json"
path.write_text(json.dumps(held) + "\n", encoding="utf-8")
