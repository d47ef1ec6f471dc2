"""Schedulers and workers as processes of their own, each with an environment of its own."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager

import fewknots
from distributed import Client

from ..waiting import HANGS

OTHER_VERSION = "0.0.1"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def process(module, *arguments, env):
    started = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def scheduler(env):
    """(the process, its address)"""
    address = f"tcp://127.0.0.1:{free_port()}"
    where = ("--host", "127.0.0.1", "--port", address.rpartition(":")[2])
    with process(
        "dask_scheduler", *where, "--dashboard-address", "127.0.0.1:0", env=env
    ) as started:
        yield started, address


def worker(address, env):
    """A worker without a nanny: once dead it stays dead."""
    return process("dask_worker", address, "--nthreads", "1", "--no-nanny", env=env)


@contextmanager
def cluster_of_processes(env):
    """A scheduler and a worker: (client, scheduler's process, worker's process)."""
    with (
        scheduler(env) as (its_process, address),
        worker(address, env) as its_worker,
        Client(address, timeout=HANGS) as client,
    ):
        client.wait_for_workers(1, timeout=HANGS)
        yield client, its_process, its_worker


def with_other_version(env, folder):
    """The environment of a process that has another fewknots."""
    package = os.path.dirname(fewknots.__file__)
    other = folder / "fewknots"
    shutil.copytree(package, other, ignore=shutil.ignore_patterns("__pycache__"))
    (other / "version.py").write_text(f'__version__ = "{OTHER_VERSION}"\n')
    return env | {"PYTHONPATH": str(folder)}


def without_fewknots(env, folder):
    """The environment of a process that has none, wherever it might be installed."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "\n"
        "class NoFewknots:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'fewknots':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "\n"
        "sys.meta_path.insert(0, NoFewknots())\n"
    )
    return env | {"PYTHONPATH": str(folder)}
