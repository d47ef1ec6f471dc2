"""store_rows=False: no row of X is in the model, nor in its file."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewknots import GPClassifier, GPRegressor, load
from fewknots.files import container
from fewknots.fitting.plan import competes
from fewknots.fitting.start import n_rows_among
from fewknots.kernels import Warp

RNG = np.random.default_rng(0)
METHODS_THAT_STORE = ("full_kl", "ep", "mean_field", "laplace", "ivm", "local")
METHODS_THAT_DO_NOT = ("sparse_kl", "fitc_ep", "sparse_mean_field", "two_stage")


def table(n=120, whole=True):
    """Rows of which many columns are whole numbers: a mean of rows is often a row there."""
    X = np.column_stack([RNG.integers(0, 3, n), RNG.integers(0, 2, n), RNG.normal(size=n)])
    X = np.round(X) if whole else X
    return X, np.where(X[:, 0] + X[:, 2] + 0.3 * RNG.normal(size=n) > 1, "yes", "no")


def rows_in_file(model, X, path):
    """How many rows of X stand in some array of the file, as they are or standardised."""
    model.save(path)
    _, arrays = container.read(path)
    found = 0
    for array in arrays.values():
        if array.ndim != 2 or array.shape[1] != X.shape[1]:
            continue
        for rows in (X, model._standardiser(X)):
            wanted = {row.tobytes() for row in rows.astype(array.dtype) + 0.0}
            found += sum(row.tobytes() in wanted for row in array + array.dtype.type(0.0))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"learn_inducing": False},
        {"inducing_init": "random", "learn_inducing": False, "n_inducing": 10},
        {"inducing_init": "greedy", "learn_inducing": False, "n_inducing": 10},
        {"n_inducing": 30, "learn_kernel": False},
        {"n_inducing": 10_000, "learn_inducing": False},  # as many as there are distinct rows
        {"optimizer": "natural_gradient", "n_inducing": 10, "max_iter": 50},
        {
            "optimizer": "natural_gradient",
            "inducing_init": "random",
            "max_iter": 50,
            "learn_inducing": False,
            "n_inducing": 10,
        },
        {"optimizer": "rounds", "n_inducing": 10, "max_iter": 10},
        {"dtype": "float32", "learn_inducing": False},
        {"standardize": False, "learn_inducing": False},
        *({"method": method, "n_inducing": 10, "max_iter": 30} for method in METHODS_THAT_DO_NOT),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_no_row_is_in_the_file(options, tmp_path):
    X, y = table()
    clf = GPClassifier(store_rows=False, random_state=0, **options).fit(X, y)
    assert clf.stored_rows_ == 0
    assert rows_in_file(clf, X, tmp_path / "model") == 0
    assert clf.score(X, y) > 0.7


def test_without_it_rows_are_there_and_counted(tmp_path):
    X, y = table()
    distinct = len(np.unique(np.column_stack([X, y == "yes"]), axis=0))
    full = GPClassifier(random_state=0).fit(X, y)
    assert full.method_ == "full_kl"
    assert full.stored_rows_ == distinct
    assert rows_in_file(full, X, tmp_path / "model") >= distinct
    options = {"n_inducing": 10, "inducing_init": "random", "learn_inducing": False}
    chosen = GPClassifier(random_state=0, **options).fit(X, y)
    assert chosen.stored_rows_ == 10
    assert load_again(chosen, tmp_path).stored_rows_ == 10


def test_a_cluster_of_one_row_is_that_row_under_warps_too():
    """The way into warped coordinates and back must not hide that a point is a row."""
    X = np.exp(2.0 * np.random.default_rng(1).normal(size=(40, 2)))
    y = (X[:, 0] > 1.0).astype(int)
    options = {"n_inducing": 32, "learn_inducing": False, "max_iter": 2, "random_state": 0}
    with pytest.warns(ConvergenceWarning):
        clf = GPClassifier(method="sparse_kl", **options).fit(X, y)
    assert isinstance(clf.kernel_, Warp)
    assert clf.stored_rows_ >= 24  # 32 clusters of 40 rows


def load_again(model, folder):
    model.save(folder / "again")
    return load(folder / "again")


@pytest.mark.filterwarnings("ignore")
def test_moved_idle_points_are_not_rows_either(tmp_path, monkeypatch):
    """Idle inducing points go to rows, in training too."""
    from fewknots.training import full_batch

    moves, on_rows = [], []

    def watched(kernel, rows, *arguments):
        Z, count = relocate(kernel, rows, *arguments)
        moves.append(count)
        on_rows.append(n_rows_among(Z, rows))
        return Z, count

    relocate = full_batch.relocate
    monkeypatch.setattr(full_batch, "relocate", watched)
    X = np.concatenate([RNG.normal(size=(300, 2)), RNG.normal(size=(20, 2)) * 0.1 + 6.0])
    y = (np.sin(3 * X[:, 0]) + (X[:, 1] > 6) > 0).astype(int)
    start = np.full((12, 2), -3.0) + 0.01 * RNG.normal(size=(12, 2))
    given = {"inducing_points": start, "max_iter": 60, "random_state": 0, "warp": None}
    clf = GPClassifier(store_rows=False, **given)
    clf.fit(X, y)
    assert sum(moves) > 0
    assert sum(on_rows) == 0
    assert clf.stored_rows_ == 0
    assert rows_in_file(clf, X, tmp_path / "model") == 0


@pytest.mark.parametrize("method", METHODS_THAT_STORE)
def test_methods_that_store_rows_are_refused_by_name(method):
    X, y = table()
    with pytest.raises(ValueError, match=f"method='{method}' keeps rows of X.*store_rows=False"):
        GPClassifier(method=method, store_rows=False).fit(X, y)
    with pytest.raises(ValueError, match="method='local' keeps rows"):
        GPClassifier(n_neighbors=5, store_rows=False).fit(X, y)


def test_no_contest_without_rows():
    assert competes(GPClassifier()._settings(), 5000)
    assert not competes(GPClassifier(store_rows=False)._settings(), 5000)


def test_given_points_must_not_be_rows():
    X, y = table(whole=False)
    with pytest.raises(ValueError, match="4 of the inducing_points are rows of X"):
        GPClassifier(inducing_points=X[:4], store_rows=False).fit(X, y)
    clf = GPClassifier(inducing_points=X[:4] + 0.01, store_rows=False, random_state=0).fit(X, y)
    assert clf.stored_rows_ == 0


def test_a_warm_start_from_rows_is_refused():
    X, y = table()
    clf = GPClassifier(n_inducing=5, inducing_init="random", learn_inducing=False, random_state=0)
    clf.fit(X, y)
    clf.set_params(store_rows=False, warm_start=True)
    with pytest.raises(ValueError, match="contains rows of X, or may contain some"):
        clf.fit(X, y)
    clf.set_params(warm_start=False).fit(X, y)
    assert clf.stored_rows_ == 0
    clf.set_params(warm_start=True).fit(X, y)
    assert clf.stored_rows_ == 0


@pytest.mark.filterwarnings("ignore")
def test_more_rows_join_the_count():
    X, y = table(whole=False)
    local = GPClassifier(method="local", max_iter=2, random_state=0).fit(X[:100], y[:100])
    assert local.stored_rows_ == 100
    assert local.partial_fit(X[100:], y[100:]).stored_rows_ == 120
    full = GPClassifier(method="full_kl", max_iter=2).fit(X[:100], y[:100])
    assert full.partial_fit(X[100:], y[100:]).stored_rows_ == 100


def test_the_argument_is_an_argument_like_others(tmp_path):
    X, y = table()
    clf = GPClassifier(store_rows=False, n_inducing=5, random_state=0)
    assert clone(clf).store_rows is False
    assert load_again(clf.fit(X, y), tmp_path).store_rows is False
    with pytest.raises(ValueError, match="store_rows must be"):
        GPClassifier(store_rows="no").fit(X, y)


def test_the_regressor_has_it_too(tmp_path):
    X, _ = table(whole=False)
    y = X[:, 2] + 0.1 * RNG.normal(size=len(X))
    exact = GPRegressor().fit(X, y)
    assert exact.method_ == "exact"
    assert exact.stored_rows_ == len(X)
    sparse = GPRegressor(store_rows=False, random_state=0).fit(X, y)
    assert sparse.method_ == "titsias"
    assert rows_in_file(sparse, X, tmp_path / "model") == 0
    with pytest.raises(ValueError, match="method='exact' keeps rows"):
        GPRegressor(method="exact", store_rows=False).fit(X, y)
