"""Batches of small solves in two threads, or twice in one program, wait for nobody."""

import subprocess
import sys
from threading import get_ident

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.posterior import as_they_are

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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_blocks_on_several_cores_are_those_of_one(n_classes, monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], [0.0, 1.0][: n_classes - 1])
    options = {"n_neighbors": 20, "learn_kernel": False, "dtype": "float32"}
    clf = GPClassifier("rbf", method="local", random_state=0, **options).fit(X, y)
    monkeypatch.setattr("fewknots.local.posterior.block_size", lambda *_: 16)
    found, threads = {}, set()

    def noting(mean, variance):
        threads.add(get_ident())
        return as_they_are(mean, variance)

    for cores in (1, 4):
        monkeypatch.setattr("fewknots.local.posterior.usable_cores", lambda n=cores: n)
        threads.clear()
        found[cores] = clf.posterior_.mapped(noting, X), clf.predict_proba(X)
        assert (len(threads) > 1) == (cores > 1)
    for one, other in zip(found[1][0], found[4][0], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[1][1], found[4][1])
