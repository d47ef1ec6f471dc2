"""Batches of small solves in two threads, or twice in one program, wait for nobody."""

import subprocess
import sys

import pytest

from ..waiting import HANGS

PROGRAM = """
import sys, threading
import numpy as np
from fewknots import GPClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3)).astype(np.float32)
y = X[:, 0] + 0.3 * rng.normal(size=2000) > 0
options = {"method_options": {"inference": sys.argv[1]}, "n_neighbors": 24, "dtype": "float32"}
def many(seed):
    clf = GPClassifier(method="local", max_iter=10, random_state=seed, **options).fit(X, y)
    for _ in range(5):
        clf.predict_proba(X)
threads = [threading.Thread(target=many, args=(i,), daemon=True) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.parametrize("rule", ["laplace", pytest.param("kl", marks=pytest.mark.computes)])
def test_two_threads_do_not_wait_for_each_other_forever(rule):
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, rule], capture_output=True, text=True, timeout=HANGS
    )
    assert process.stdout == "done\n", process.stderr
