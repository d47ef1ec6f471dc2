r"""Effect of a date on the prediction: over the calendar, over the week and over the day.

A date becomes several features, which change together: each date is encoded by the recipe, so the
curve is the prediction for rows with that date.

With a model that uses the day of the week, a curve over three years would be a zigzag or, drawn at
every tenth day, show a pattern that does not exist. So over more than three weeks a point stands
for whole weeks: each of the averaged rows gets one of their days, every day of the week in turn,
and keeps its time of day. The effects of the day of the week and of the time of day are separate
curves.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from .effects import POINTS, Effect, averaged, rows_to_average, where_missing
from .inputs import Input
from .unnamed_rows import UnnamedRows

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FEW_DAYS = 21  # a range of fewer days has a point for each day
_WEEK = 7
_HOURS = 24
MICROSECONDS_A_DAY = 86_400e6


def over_the_calendar(rows: UnnamedRows, one: Input) -> Effect:
    """The mean probability and its band (as `effect`), over the dates of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from fewknots import GPClassifier, explain
    >>> hours = np.arange(0, 24 * 28, 7)
    >>> table = pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h")})
    >>> y = hours % 24 > 12
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(table, y)
    >>> rows = explain.without_names(clf, table)
    >>> when = explain.inputs_of(rows)[0]
    >>> explain.over_the_calendar(rows, when).name
    'when'
    """
    import pyarrow as pa

    known = rows.X[one.present(rows.X), one.features.start]
    if not len(known):  # none of these rows has a date
        known = rows.X[:, one.features.start]
    first, last = np.quantile(known, [0.01, 0.99])
    if "day of week" not in one.column.circles:  # hours or a few days: moment by moment
        values = np.unique(known) if len(np.unique(known)) < 3 else np.linspace(first, last, POINTS)
        moments = values[:, None]
    else:
        first, last = np.floor(first), np.floor(last)
        weeks = int(np.ceil((last - first + 1) / (_WEEK * POINTS)))
        width = 1 if last - first < _FEW_DAYS else _WEEK * weeks
        starts = first + width * np.arange(max(int((last - first + 1) // width), 1))
        _, times = _days_and_times(rows, one)
        turn = np.random.default_rng(0).permutation(len(times))
        moments = starts[:, None] + np.floor((turn + 0.5) * width / len(times)) + times
        values = starts + 0.5 * (width - 1)
    band = averaged(rows, one, _encoded(one, moments))
    missing = where_missing(rows, one, pa.nulls(1, pa.timestamp("us")))
    return Effect(one.name, "date", values, *band, False, missing=missing)


def over_the_week(rows: UnnamedRows, one: Input) -> Effect | None:
    """The same for Monday to Sunday, each row in its own week; None if the recipe has no weeks.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from fewknots import GPClassifier, explain
    >>> hours = np.arange(0, 24 * 28, 7)
    >>> table = pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h")})
    >>> y = hours % 24 > 12
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(table, y)
    >>> rows = explain.without_names(clf, table)
    >>> when = explain.inputs_of(rows)[0]
    >>> len(explain.over_the_week(rows, when).values)
    7
    """
    from ..tables.recipe.dates import MONDAY

    if "day of week" not in one.column.circles:
        return None
    days, times = _days_and_times(rows, one)
    mondays = days - (days - MONDAY) % _WEEK
    moments = mondays + np.arange(float(_WEEK))[:, None] + times
    band = averaged(rows, one, _encoded(one, moments))
    name = f"{one.name}: day of the week"
    return Effect(name, "text", np.arange(float(_WEEK)), *band, True, labels=DAYS)


def over_the_day(rows: UnnamedRows, one: Input) -> Effect | None:
    """The same for the hours of a day, each row on its own day; None if the recipe has no hours.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from fewknots import GPClassifier, explain
    >>> hours = np.arange(0, 24 * 28, 7)
    >>> table = pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h")})
    >>> y = hours % 24 > 12
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(table, y)
    >>> rows = explain.without_names(clf, table)
    >>> when = explain.inputs_of(rows)[0]
    >>> len(explain.over_the_day(rows, when).values)
    41
    """
    if "time of day" not in one.column.circles:
        return None
    days, _ = _days_and_times(rows, one)
    hours = np.linspace(0.0, _HOURS, POINTS + 1)
    just_before = np.minimum(hours / _HOURS, 1.0 - 1e-9)  # 24:00 belongs to the same day
    band = averaged(rows, one, _encoded(one, days + just_before[:, None]))
    return Effect(f"{one.name}: time of day", "hour", hours, *band, False)


def _days_and_times(
    rows: UnnamedRows, one: Input
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The day and the time of day of each averaged row; times are 0 if the column has only days.

    (A missing value is filled with the mean, which has a time of day even in a column of days.)
    """
    moments = rows_to_average(rows)[:, one.features.start]
    days = np.floor(moments)
    return days, (moments - days) * ("time of day" in one.column.circles)


def _encoded(one: Input, moments: Float[np.ndarray, "V n"]) -> Any:
    """Features of dates, given in days since 1970, for each value and row."""
    import pyarrow as pa

    microseconds = np.round(moments.ravel() * MICROSECONDS_A_DAY).astype(np.int64)
    features = one.encoded(pa.array(microseconds, pa.timestamp("us")))
    return features.reshape(*moments.shape, -1)
