"""A batch shared by four devices gives what one device gives."""

import os
import subprocess
import sys

from ..waiting import HANGS

SCRIPT = """
import sys
import jax
import numpy as np
from fewknots import GPClassifier
assert len(jax.devices()) == int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 3))
y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=3000) > 0
clf = GPClassifier(n_inducing=16, optimizer="natural_gradient", batch_size=256, max_iter=300,
                   dtype="float64", random_state=0).fit(X, y)
np.save(sys.argv[2], np.append(clf.predict_proba(X[:50])[:, 1], clf.log_evidence_))
"""


def test_four_devices_do_what_one_does(tmp_path):
    import numpy as np

    found = []
    for count in (1, 4):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
        path = tmp_path / f"{count}.npy"
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(count), path],
            env=os.environ | {"XLA_FLAGS": flags},
            check=True,
            timeout=HANGS,
        )
        found.append(np.load(path))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
