"""A small table is no work for a cluster: one process fits it, unless rounds are asked for."""

import dask.array as da
import numpy as np
import pytest

from distributed import Client
from fewknots import GPClassifier
from fewknots.distributed import fitting, rounds

from .conftest import cut, rows, three_classes

X, Y = rows(200)
Y = three_classes(X, Y)
FEW = {"kernel": "rbf", "warp": None, "method": "sparse_kl", "n_inducing": 8, "random_state": 0}
FEW |= {"tol": 1e-2, "class_weight": "balanced"}
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, 200)
pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


@pytest.fixture(scope="module")
def threads():
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


@pytest.fixture
def asked(monkeypatch):
    """How often the cluster was asked for a round."""
    count, ask = [], rounds.ClusterSums.__call__
    monkeypatch.setattr(
        rounds.ClusterSums, "__call__", lambda *question: count.append(1) or ask(*question)
    )
    return count


def fitted(parts, **more):
    lazy = cut(X, Y, parts)
    return GPClassifier(**FEW | more).fit(*lazy, da.from_array(WEIGHTS, chunks=lazy[1].chunks))


def test_it_is_the_fit_in_memory_however_it_is_cut(threads, asked, capsys):
    alone = GPClassifier(**FEW).fit(X, Y, WEIGHTS)
    for parts in (1, 3):
        clf = fitted(parts, verbose=parts == 3)
        assert clf.log_evidence_ == alone.log_evidence_
        np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))
        np.testing.assert_array_equal(clf.classes_, ["in time", "late", "never"])
    assert not asked
    assert "200 rows are few for a cluster" in capsys.readouterr().err


@pytest.mark.parametrize("asking", ["optimizer", "max_iter", "checkpoint", "size"])
def test_rounds_are_made_for_who_asks_for_them(threads, asked, asking, monkeypatch, tmp_path):
    ways = {"optimizer": "rounds", "max_iter": 1, "checkpoint": tmp_path}
    few = {"max_iter": 1} if asking != "checkpoint" else {"callback": lambda now: True}
    if asking == "size":
        monkeypatch.setattr(fitting, "MOST_GATHERED", X.size - 1)
        few = {"callback": lambda now: True}
    fitted(2, **few | ({asking: ways[asking]} if asking in ways else {}))
    assert asked


def test_names_of_columns_come_along(threads):
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"time": X[:, 0], "distance": X[:, 1], "late": Y})
    ddf = dd.from_pandas(frame, npartitions=3)
    clf = GPClassifier(**FEW, max_time=60.0).fit(ddf[["time", "distance"]], ddf["late"])
    assert list(clf.feature_names_in_) == ["time", "distance"]


def test_texts_have_no_order_here_either(threads):
    with pytest.raises(ValueError, match="needs the order of the classes"):
        fitted(2, likelihood="ordinal")
