"""One small model for all tests of commands, and the command line inside this process."""

import io
import json
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from fewknots.cli.app import app
from fewknots.cli.running import run

from ..flights_table import flights


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def fewknots(capfd):
    """The command line, called with arguments: its exit code, output and messages."""

    def call(*arguments):
        capfd.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as in a program of its own
            code = run(app, [str(argument) for argument in arguments])
        return Done(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="module")
def fewknots_of_module():
    """The same for what a whole module shares."""

    def call(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
            warnings.simplefilter("default")
            code = run(app, [str(argument) for argument in arguments])
        return Done(code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with flights.csv, flights.parquet, new.csv and a model of them."""
    folder = tmp_path_factory.mktemp("home")
    table = flights()
    table.to_csv(folder / "flights.csv", index=False)
    table.to_parquet(folder / "flights.parquet")
    flights(30, seed=1).drop(columns="late").to_csv(folder / "new.csv", index=False)
    flights(100, seed=2).to_csv(folder / "later.csv", index=False)
    arguments = ["fit", f"{folder}/flights.csv", "--target", "late", "--inducing", "15"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code = run(app, [*arguments, "--max-time", "2", "--out", f"{folder}/m.fewknots"])
    assert code == 0
    return folder
