"""Shapes and dtypes in annotations are checked while testing, and only then."""

import atexit
import gc
import os
import shutil
import tempfile
from collections import Counter
from contextlib import nullcontext

# Several workers share the cores: without this each starts as many threads as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What is compiled once is read from then on, by every worker and every process that a test starts:
# small programs, too, which are most of them (reading takes half the time of compiling).
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    _programs = tempfile.mkdtemp(prefix="fewknots-programs-")
    atexit.register(shutil.rmtree, _programs, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from .annotations import check_annotations
from .compiling import compile_as_said, optimised

compile_as_said()
check_annotations("fewknots")

from fewknots.numerics.precision import computing_in  # noqa: E402  (after the hook, to be checked by it)

from .ida import write_ida_file  # noqa: E402
from .memory import ProgramStore  # noqa: E402

# Tracing makes many small objects: by default Python would look for cycles among them thousands of
# times, for a tenth of all the time.
gc.set_threshold(10_000, 20, 20)

# An example may take its time: the machine may be busy with other work.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
_STORE = ProgramStore()


# How many other tests a marked one takes the time of, roughly.
_WORTH = {"slow": 20, "computes": 5, "cluster": 5}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Long files first: workers take files in this order, and none shall begin a long one last."""
    worth = Counter()
    for item in items:
        worth[item.path] += max([1, *(_WORTH.get(mark.name, 1) for mark in item.iter_markers())])
    items.sort(key=lambda item: -worth[item.path])  # within a file, and among equals, as they were


@pytest.fixture(autouse=True)
def bounded_memory():
    """After every test: a process that has grown too large drops its compiled programs."""
    yield
    _STORE.drop_if_many()


@pytest.fixture(autouse=True)
def compiled_as_marked(request):
    """Programs of a test that is marked `computes` are compiled well (compiling.py)."""
    with optimised() if request.node.get_closest_marker("computes") else nullcontext():
        yield


@pytest.fixture
def float64():
    """JAX with 64-bit types inside the test, and as it was after it."""
    with computing_in(np.dtype(np.float64)):
        yield


@pytest.fixture(scope="session")
def moons():
    """Eighty rows in three columns, two classes with a curved and noisy border."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3)) * [1.0, 2.0, 0.5] + [0.0, 5.0, -1.0]
    score = (X[:, 0] ** 2 + 0.5 * (X[:, 1] - 5.0) - 0.8) + 0.4 * rng.normal(size=80)
    return X, (score > 0).astype(int)


@pytest.fixture(scope="session")
def three_classes():
    """A classifier of three sectors of a plane (the third column says nothing), and its rows."""
    from fewknots import GPClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.2 * rng.normal(size=150)
    sector = ((angle + np.pi) // (2.0 * np.pi / 3.0)).astype(int) % 3
    y = np.array(["ant", "bee", "cat"])[sector]
    classifier = GPClassifier(kernel="rbf", warp=None, n_inducing=12, tol=0.1, random_state=0)
    return classifier.fit(X, y), X, y


@pytest.fixture(scope="session")
def small_data(tmp_path_factory):
    """A folder with small stand-ins for banana and image."""
    folder = tmp_path_factory.mktemp("data")
    write_ida_file(folder, "banana")
    write_ida_file(folder, "image", n_inputs=18, seed=1)
    return folder
