"""Numbers formatted for people."""

import math
from typing import Any

import numpy as np

from .labels import whole


def short(value: float | None, digits: int = 4) -> str:
    """So many significant digits: 0.2477, 1,234, 1.2e+09; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        return f"{value:.{max(digits - 2, 1)}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    written = f"{value:,.{decimals}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def percent(share: float) -> str:
    """A share in per cent, with one decimal except for 0 and 100 %, without a line break."""
    return f"{100 * share:.{1 if 0 < share < 0.9995 else 0}f}\u00a0%"


def counted(count: int, one: str, many: str | None = None) -> str:
    """1 row, 1,234 rows."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def cell(value: Any) -> str:
    """A value of a table as text; numbers have four digits."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return short(float(value))
    return whole(value)
