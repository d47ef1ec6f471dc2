"""Contests that are over soon: method="auto" with fewer rows, smaller batches, fewer neighbours."""

from contextlib import contextmanager

import pytest

from fewknots.estimators import contest, local_fits


@contextmanager
def small_contests(fewest_rows):
    """Inside, two methods compete above so many rows, and the local one takes small steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contest, "FEWEST_ROWS", fewest_rows)
        patch.setattr(local_fits, "_BATCH", 64)
        patch.setattr(local_fits, "_NEIGHBORS", {"cpu": 16, "gpu": 16})
        yield
