"""Numbers in Dask collections: refused in one sentence, before any work."""

import dask.array as da
import pytest

from fewknots import GPRegressor


@pytest.mark.parametrize("method", ["auto", "local", "sparse_kl"])
def test_dask_collections_are_refused(method):
    X, y = da.ones((8, 2), chunks=4), da.ones(8, chunks=4)
    with pytest.raises(TypeError, match=r"GPRegressor does not take Dask collections.*fit_stream"):
        GPRegressor(method=method).fit(X, y)
