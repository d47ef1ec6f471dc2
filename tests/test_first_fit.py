"""A first fit in a process compiles few programs, and what it does not need is not imported.

Each program costs a tenth of a second, an operation of JAX outside of a program a fiftieth.
"""

import json
import subprocess
import sys

import pytest

_FIT = """
import json, sys, jax, numpy as np
names = []

def note(event, seconds, fun_name="", **_):
    if event == "/jax/core/compile/backend_compile_duration":
        names.append(fun_name)

jax.monitoring.register_event_duration_secs_listener(note)
from fewknots import GPClassifier, GPRegressor
kind, n_rows = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, 3))
X[:, 0] = np.exp(X[:, 0])  # a warp
f = np.log(X[:, 0]) ** 2 + X[:, 1]
if kind == "regressor":
    model = GPRegressor(random_state=0, max_iter=25).fit(X, f)
    model.predict(X)
else:
    y = np.digitize(f, [0.0, 1.0] if kind == "three" else [0.5])
    method = "local" if kind == "local" else "auto"
    model = GPClassifier(method=method, random_state=0, max_iter=25).fit(X, y)
    model.predict_proba(X)
slow = [name for name in ("optax", "jax.scipy.sparse.linalg") if name in sys.modules]
print(json.dumps({"programs": names, "slow": slow}))
"""

# The programs of a fit and of predictions for its rows. One is empty, and asks XLA for its options;
# one compares the starts; then training (for inducing points: where idle ones go); then marginals
# and probabilities. The local method needs a prior mean, its model after each step, and
# scores.
_MOST_PROGRAMS = {
    ("two", 200): 5,
    ("two", 400): 6,
    ("three", 200): 5,
    ("regressor", 200): 5,
    ("local", 400): 8,
}


@pytest.mark.parametrize(("kind", "n_rows"), list(_MOST_PROGRAMS))
def test_a_first_fit_compiles_few_programs(kind, n_rows):
    command = [sys.executable, "-W", "ignore", "-c", _FIT, kind, str(n_rows)]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found = json.loads(printed)
    assert len(found["programs"]) <= _MOST_PROGRAMS[kind, n_rows], found["programs"]
    assert not found["slow"]
