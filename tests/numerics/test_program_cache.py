"""Programs from the folder of an earlier process compute what newly compiled ones do, bit for bit.

Each step is a process of its own, without JAX's own cache, which the test suite uses.
"""

import hashlib
import json
import os
import subprocess
import sys

import pytest

_COMPILED = """
import json, sys, jax
names = []

def note(event, seconds, fun_name="", **_):
    if event == "/jax/core/compile/backend_compile_duration":
        names.append(fun_name)

jax.monitoring.register_event_duration_secs_listener(note)
before = dict(jax.config.values)
"""
_TELL = """
after = dict(jax.config.values)
print(json.dumps({"found": found, "names": names, "settings": before == after}))
"""

# Functions of one name, so that only what they are can tell them apart.
_ALIKE = (
    _COMPILED
    + """
import jax.numpy as jnp, numpy as np
from fewknots.numerics.precision import compiled, computing_in

def takes(which):
    def function(a, b):
        return (a, b)[which] + 1.0
    return compiled(function)

def holds(number):
    constant = np.zeros(20_000)
    constant[777] = number
    def function(a):
        return jnp.sum(constant * a)
    return compiled(function)

def gives(structure):
    def function(a):
        return structure((a, 2.0 * a))
    return compiled(function)

def times(a, n):
    return a * n

def plus(a, b):
    return (a + b, a * b)

static = compiled(times, static_argnums=1)
weak = compiled(plus)
with computing_in(np.dtype(np.float64)):
    found = [float(takes(which)(1.0, 10.0)) for which in (0, 1)]
    found += [float(holds(number)(3.0)) for number in (1.0, 2.0)]
    found += [type(gives(kind)(1.5)).__name__ for kind in (tuple, list)]
    found += [float(static(5.0, n)) for n in (2, 3, 2)]
    single = np.ones(2, np.float32)
    adapts, keeps = jnp.asarray(2.0), jnp.asarray(2.0, np.float64)  # both float64
    for other in (2.0, np.float64(2.0), jnp.float32(2.0), adapts, keeps, single):
        found += [str(value.dtype) for value in weak(single, other)]
with computing_in(np.dtype(np.float32)):
    found.append(str(static(5.0, 2).dtype))
"""
    + _TELL
)
_FOUND = [2.0, 11.0, 3.0, 6.0, "tuple", "list", 10.0, 15.0, 10.0]
for bits in (32, 64, 32, 32, 64, 32):
    _FOUND += [f"float{bits}"] * 2
_FOUND.append("float32")

_KERNELS = (
    _COMPILED
    + """
import hashlib, numpy as np
from fewknots import GPClassifier
from fewknots.kernels import KERNELS
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
found = []
for kernel in sorted(KERNELS):
    model = GPClassifier(kernel, method="laplace", warp=None, max_iter=2, random_state=0).fit(X, y)
    numbers = model.predict_proba(X), np.float64(model.log_evidence_)
    found.append(hashlib.sha256(b"".join(part.tobytes() for part in numbers)).hexdigest())
"""
    + _TELL
)


def start(code, programs, **variables):
    environment = {name: value for name, value in os.environ.items() if name[:4] != "JAX_"}
    environment |= {"FEWKNOTS_PROGRAMS": str(programs)} | variables
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **streams)


def ended(process):
    """What it found, the names of what it compiled, and what it said besides."""
    printed, said = process.communicate()
    assert process.returncode == 0, said
    result = json.loads(printed)
    assert result["settings"]
    return result["found"], result["names"], said


def programs_in(folder):
    return {path: path.read_bytes() for path in folder.glob("*/*")}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that two processes have filled at once."""
    folder = tmp_path_factory.mktemp("caches") / "programs"
    both = [start(_ALIKE, folder) for _ in range(2)]
    ends = [(process.communicate(), process.returncode) for process in both]
    for (printed, said), code in ends:
        assert (code, said) == (0, "")
        assert json.loads(printed)["found"] == _FOUND
    return folder


def test_off_unless_asked_for(tmp_path):
    found, names, _ = ended(start(_ALIKE, "", XDG_CACHE_HOME=str(tmp_path)))
    assert found == _FOUND
    assert any("times" in name for name in names)
    assert list(tmp_path.iterdir()) == []


def test_programs_that_are_alike_are_told_apart(filled):
    before = programs_in(filled)
    found, names, said = ended(start(_ALIKE, filled))
    assert (found, said) == (_FOUND, "")
    assert not any(name in compiled for compiled in names for name in ("function", "plus", "times"))
    assert programs_in(filled) == before


def test_what_xla_cannot_read_is_compiled_again(filled):
    before = programs_in(filled)
    for path in before:
        content = b"no program"
        path.write_bytes(hashlib.sha256(path.name.encode() + b"\0" + content).digest() + content)
    found, _, said = ended(start(_ALIKE, filled))
    assert (found, said) == (_FOUND, "")
    after = programs_in(filled)
    assert set(after) == set(before)
    assert all(len(content) > 1000 for content in after.values())


def test_other_flags_of_xla_other_programs(filled):
    before = programs_in(filled)
    flags = os.environ["XLA_FLAGS"] + " --xla_cpu_enable_fast_math=false"
    found, names, _ = ended(start(_ALIKE, filled, XLA_FLAGS=flags))
    assert found == _FOUND
    assert any("function" in name for name in names)
    assert len(programs_in(filled)) == 2 * len(before)


def test_a_folder_that_others_can_write_to_is_left_alone(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    folder.chmod(0o777)
    found, _, said = ended(start(_ALIKE, folder))
    assert found == _FOUND
    assert said.count("others can write to it") == 1
    assert "FEWKNOTS_PROGRAMS" in said
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_fits_with_every_kernel_are_the_same_bit_for_bit(tmp_path):
    without, _, _ = ended(start(_KERNELS, "off"))
    cold, compiled, _ = ended(start(_KERNELS, "on", XDG_CACHE_HOME=str(tmp_path)))
    warm, compiled_again, _ = ended(start(_KERNELS, "on", XDG_CACHE_HOME=str(tmp_path)))
    assert len(set(without)) == len(without) > 8
    assert cold == without
    assert warm == without
    kept = programs_in(tmp_path / "fewknots" / "programs")
    assert len(kept) == len(compiled) - len(compiled_again) > 2 * len(without)
