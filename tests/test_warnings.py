"""Every warning points at the line of the user that led to it, and never at one of ours."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewknots
from fewknots import GPClassifier, GPRegressor
from fewknots.exceptions import (
    CheckpointWarning,
    InputWarning,
    NumericalWarning,
)
from fewknots.training.loop import RunState

SOURCES = Path(fewknots.__file__).parent
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)  # separable ones take ten times as long


def minibatches(folder, resume=False):
    return GPClassifier(
        n_inducing=4, optimizer="natural_gradient", max_iter=20, batch_size=20, random_state=0
    ).set_params(checkpoint=folder, resume=resume)


def constant_column(folder):
    GPClassifier(n_inducing=4, max_iter=200).fit(np.column_stack([X, np.ones(60)]), y)


def constant_column_of_a_stream(folder):
    table = np.column_stack([X, np.ones(60)])
    GPClassifier(n_inducing=4, max_iter=200).fit_stream(lambda: iter([(table, y)]))


def constant_column_in_a_pipeline(folder):
    rows = np.column_stack([X, np.ones(60)])
    make_pipeline(StandardScaler(), GPClassifier(n_inducing=4, max_iter=200)).fit(rows, y)


def too_many_points(folder):
    GPClassifier(n_inducing=100, max_iter=200).fit(X, y)


def too_few_iterations(folder):
    GPClassifier(n_inducing=4, max_iter=1).fit(X, y)


def too_few_iterations_of_a_regressor(folder):
    GPRegressor(max_iter=1).fit(X, X[:, 0])


def too_few_iterations_while_cross_validating(folder):
    cross_val_score(GPClassifier(n_inducing=4, max_iter=1), X, y, cv=2)


def a_column_of_labels(folder):
    GPClassifier(n_inducing=4, max_iter=200).fit(X, y[:, None])


def a_jitter_that_grows(folder):
    points = np.repeat(X[:4], 5, axis=0)
    settings = {"jitter": 1e-18, "learn_inducing": False, "max_iter": 50}
    GPClassifier("rbf", inducing_points=points, **settings).fit(X, y)


def a_damaged_checkpoint(folder):
    minibatches(folder).fit(X, y)
    newest = sorted(folder.glob("step-*"))[-1]
    newest.write_bytes(b"damaged")
    minibatches(folder, resume=True).fit(X, y)


def steps_that_diverge(folder):
    here = RunState(*(0,) * len(RunState._fields))._replace(slowdown=1.0)
    here.slower(5, "another kernel")


def a_small_table_to_go_on_with(folder):
    from fewknots.tables.fit import RunOptions, fit_files
    from fewknots.tables.reading import Task

    path = folder / "t.csv"
    columns = {"a": X[:, 0], "b": X[:, 1], "y": np.where(y, "yes", "no")}
    pd.DataFrame(columns).to_csv(path, index=False)
    classifier = GPClassifier(n_inducing=4, max_iter=200)
    fit_files(
        [str(path)], Task("y"), classifier, RunOptions(0.0, 0, folder / "run", True), _Watch()
    )


class _Watch:
    def __call__(self, doing, rows):
        pass

    def hide(self):
        pass


CASES = [
    (constant_column, InputWarning),
    (constant_column_of_a_stream, InputWarning),
    (constant_column_in_a_pipeline, InputWarning),
    (too_many_points, InputWarning),
    (too_few_iterations, ConvergenceWarning),
    (too_few_iterations_of_a_regressor, ConvergenceWarning),
    (too_few_iterations_while_cross_validating, ConvergenceWarning),
    (a_column_of_labels, DataConversionWarning),
    (a_jitter_that_grows, NumericalWarning),
    (a_damaged_checkpoint, CheckpointWarning),
    (steps_that_diverge, NumericalWarning),
    (a_small_table_to_go_on_with, CheckpointWarning),
]


@pytest.mark.parametrize(("cause", "category"), CASES, ids=[case[0].__name__ for case in CASES])
def test_it_points_here(cause, category, tmp_path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cause(tmp_path)
    of_category = [warning for warning in said if issubclass(warning.category, category)]
    assert of_category
    assert {warning.filename for warning in of_category} == {__file__}
    ours = [warning for warning in said if Path(warning.filename).is_relative_to(SOURCES)]
    assert not ours


def test_a_contest_says_it_where_it_was_started():
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=(2100, 2)), np.ones(2100)])
    stop = GPClassifier(random_state=0, callback=lambda now: True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stop.fit(rows, rows[:, 0] > 0)
    assert any(issubclass(warning.category, InputWarning) for warning in said)
    assert {warning.filename for warning in said} == {__file__}


def test_filters_by_module_work():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module=re.escape(__name__))
        GPClassifier(n_inducing=4, max_iter=1).fit(X, y)
    assert not said


def test_no_other_way_to_warn_is_used():
    """`warnings.warn` needs a `stacklevel`, which is wrong as soon as a caller is added."""
    direct = [
        path.name
        for path in SOURCES.rglob("*.py")
        if "warnings.warn(" in path.read_text(encoding="utf-8")
    ]
    assert not direct
