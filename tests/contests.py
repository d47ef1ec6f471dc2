"""Contests that are over soon: method="auto" with fewer rows, smaller batches, fewer neighbours."""

from contextlib import contextmanager

import pytest

from fewknots.fitting import plan


@contextmanager
def small_contests(fewest_rows):
    """Inside, two methods compete above so many rows, and the local one takes small steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FEWEST_ROWS_TO_COMPETE", fewest_rows)
        patch.setattr(plan, "_LOCAL_BATCH", 64)
        patch.setattr(plan, "_NEIGHBORS", {"cpu": 16, "gpu": 16})
        yield
