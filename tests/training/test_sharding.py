"""A batch shared by four devices gives what one device gives."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ..waiting import HANGS

SCRIPT = """
import sys
import jax
import numpy as np
from fewknots import GPClassifier
assert len(jax.devices()) == int(sys.argv[1])
rng = np.random.default_rng(0)
X, n_classes = rng.normal(size=(1500, 3)), int(sys.argv[3])
score = np.sin(2.0 * X) @ rng.normal(size=(3, n_classes)) + 0.3 * rng.gumbel(size=(1500, n_classes))
clf = GPClassifier(n_inducing=32, optimizer="natural_gradient", batch_size=256, max_iter=30,
                   dtype="float64", random_state=0).fit(X, np.argmax(score, axis=1))
np.save(sys.argv[2], np.append(clf.predict_proba(X[:50]).ravel(), clf.log_evidence_))
"""


@pytest.mark.parametrize("n_classes", [2, pytest.param(10, marks=pytest.mark.computes)])
def test_four_devices_do_what_one_does(n_classes, tmp_path):
    found = []
    for count in (1, 4):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
        path = tmp_path / f"{count}.npy"
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(count), path, str(n_classes)],
            env=os.environ | {"XLA_FLAGS": flags},
            check=True,
            timeout=HANGS,
        )
        found.append(np.load(path))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
