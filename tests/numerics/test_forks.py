"""Real forks, each in a process of its own with a time limit: a hang fails, and blocks nothing."""

import os
import signal
import subprocess
import sys

import pytest

from fewknots import GPClassifier

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

_TIMEOUT = 300
METHODS = ("sparse_kl", "laplace", "local")

START = """
import multiprocessing, os, socket, sys, warnings
import numpy as np
warnings.simplefilter("ignore")  # JAX and Python warn of forks
import fewknots
from fewknots import GPClassifier, load

MODELS = sys.argv[1:]
ROWS = np.array([[0.0, 5.0, -1.0], [1.0, 4.0, -0.5]])
FEW_X = np.random.default_rng(0).normal(size=(30, 3))
FEW_Y = FEW_X[:, 0] > 0


def in_fork(work):
    # what `work` returns in a forked child, as text
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            said = repr(work())
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.wait()
    return said


def told(said):
    return said.startswith("ForkError: ") and "spawn" in said and "gunicorn" in said


def first_probability(model):
    return load(model).predict_proba(ROWS)[0, 0]
"""


@pytest.fixture(scope="module")
def models(moons, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    paths = [folder / f"{method}.fewknots" for method in METHODS]
    for method, path in zip(METHODS, paths, strict=True):
        GPClassifier(method=method, learn_kernel=False, random_state=0).fit(*moons).save(path)
    return paths


def run(tmp_path, models, program):
    """The program's last lines run where it is the main module, as spawned workers need it."""
    lines = "\n".join(f"    {line}" for line in program.strip().splitlines())
    path = tmp_path / "program.py"
    path.write_text(f'{START}\n\nif __name__ == "__main__":\n{lines}\n')
    process = subprocess.Popen(
        [sys.executable, "-u", path, *models],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, error = process.communicate(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children, too: one of them is what hangs
        process.communicate()
        raise
    assert process.returncode == 0, error


def test_models_that_were_loaded_before_the_fork_predict_after_it(tmp_path, models):
    run(
        tmp_path,
        models,
        """
from jax._src import xla_bridge
loaded = [load(path) for path in MODELS]
assert not xla_bridge._backends  # to load is to compute nothing
for model in loaded:
    for _ in range(2):
        said = in_fork(lambda: model.predict_proba(ROWS).tolist())
        assert np.shape(eval(said)) == (2, 2), said
        found = said
    model.found = found
for model in loaded:  # now in the parent
    np.testing.assert_allclose(model.predict_proba(ROWS), eval(model.found), rtol=1e-12)
""",
    )


def test_a_child_of_a_process_that_predicted_is_told_at_once(tmp_path, models):
    run(
        tmp_path,
        models,
        """
loaded = [load(path) for path in MODELS]
loaded[0].predict_proba(ROWS)
for model in loaded:
    for name in ("predict", "predict_proba", "decision_function", "predict_latent"):
        said = in_fork(lambda: getattr(model, name)(ROWS))
        assert told(said), said
assert told(in_fork(lambda: GPClassifier().fit(FEW_X, FEW_Y)))
assert told(in_fork(lambda: fewknots.GPRegressor().fit(FEW_X, FEW_X[:, 0])))
assert told(in_fork(lambda: load(MODELS[0]).predict(ROWS)))  # loading there is no help
assert told(in_fork(lambda: in_fork(lambda: loaded[0].predict(ROWS)))[1:])  # nor another fork
assert loaded[0].predict(ROWS).shape == (2,)  # the parent goes on
""",
    )


def test_a_child_of_a_process_that_used_jax_for_itself_is_told(tmp_path, models):
    run(
        tmp_path,
        models,
        """
import jax.numpy as jnp
jnp.ones(3).sum()
assert told(in_fork(lambda: first_probability(MODELS[0])))
""",
    )


@pytest.mark.slow
def test_workers_by_fork_are_told_and_by_spawn_they_work(tmp_path, models):
    run(
        tmp_path,
        models,
        """
here = [first_probability(path) for path in MODELS]
with multiprocessing.get_context("fork").Pool(1) as pool:
    try:
        pool.map(first_probability, MODELS)
    except fewknots.ForkError as error:
        assert told(f"ForkError: {error}")
    else:
        raise AssertionError("no error")
with multiprocessing.get_context("spawn").Pool(1) as pool:
    np.testing.assert_allclose(pool.map(first_probability, MODELS), here, rtol=1e-12)

from sklearn.model_selection import GridSearchCV  # whose workers are spawned, too
search = GridSearchCV(
    GPClassifier(max_iter=2, tol=1.0), {"kernel": ["rbf", "linear"]}, cv=2, n_jobs=2
)
search.fit(FEW_X, FEW_Y)
assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
""",
    )


def test_a_server_that_loads_and_forks_its_workers(tmp_path, models):
    run(
        tmp_path,
        models,
        """
model = load(MODELS[0])
server = socket.create_server(("127.0.0.1", 0))
workers = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        connection, _ = server.accept()  # one request a worker: both of them answer
        with connection, connection.makefile("rw") as stream:
            row = [[float(word) for word in stream.readline().split()]]
            print(os.getpid(), *model.predict_proba(row)[0], file=stream, flush=True)
        os._exit(0)
    workers.append(pid)
connections = [socket.create_connection(server.getsockname()) for _ in workers]
answers = []
for connection in connections:
    with connection, connection.makefile("rw") as stream:
        print(*ROWS[0], file=stream, flush=True)
        answers.append([float(word) for word in stream.readline().split()])
assert sorted(pid for pid, *_ in answers) == sorted(workers)
for _, *probabilities in answers:
    np.testing.assert_allclose(probabilities, model.predict_proba(ROWS[:1])[0], rtol=1e-12)
for pid in workers:
    assert os.waitpid(pid, 0)[1] == 0
""",
    )
