"""Ticks of a date axis: years, months, days, hours or minutes, depending on its range."""

import numpy as np

from ..explain.calendar import MICROSECONDS_A_DAY

_MINUTE, _HOUR = 1 / 1440, 1 / 24
_MONTH = 30.44  # days, roughly
# (days between two ticks, unit, how many of it), from fine to coarse
_STEPS = (
    *((n * _MINUTE, "m", n) for n in (1, 2, 5, 10, 30)),
    *((n * _HOUR, "h", n) for n in (1, 2, 6, 12)),
    *((float(n), "D", n) for n in (1, 2, 7, 14)),
    *((n * _MONTH, "M", n) for n in (1, 2, 3, 6)),
    *((n * 12 * _MONTH, "Y", n) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)),
)


def calendar_ticks(low: float, high: float, about: int = 4) -> list[tuple[float, str]]:
    """Ticks (days since 1970) and labels: 2023, 2023-07, 2023-07-01 or 07-01 06:00.

    Weeks begin on Mondays; other units at multiples of the step.
    """
    wanted = (high - low) / about
    _, unit, step = next((s for s in _STEPS if s[0] >= 0.8 * wanted), _STEPS[-1])
    begin, end = (moment(day).astype(f"datetime64[{unit}]").astype(np.int64) for day in (low, high))
    shift = 4 if unit == "D" and step >= 7 else 0  # 1970 began on a Thursday
    if unit == "Y":
        shift = -1970 % step
    first = -((shift - begin) // step) * step + shift
    numbers = np.arange(first, end + 1, step).astype(f"datetime64[{unit}]")
    places = numbers.astype("datetime64[us]").astype(np.int64) / MICROSECONDS_A_DAY
    inside = (places >= low - 1e-9) & (places <= high + 1e-9)
    return [
        (float(place), _written(str(number), unit))
        for place, number in zip(places[inside], numbers[inside], strict=True)
    ]


def moment(day: float) -> np.datetime64:
    """Days since 1970 as a datetime64."""
    return np.datetime64(round(day * MICROSECONDS_A_DAY), "us")


def dated(day: float) -> str:
    """Days since 1970 as an ISO date: 2023-07-01."""
    return str(moment(day).astype("datetime64[D]"))


def _written(iso: str, unit: str) -> str:
    if unit not in "hm":
        return iso
    day, _, time = iso.partition("T")
    return f"{day[-5:]} {time if ':' in time else time + ':00'}"
