"""What a fitted classifier has learned, as numbers; `plots` and `report` draw them.

All functions use only predictions, the kernel and the inducing points of a classifier, so they work
for every method. Their work is bounded for tables of any size.
"""

from .calendar import over_the_calendar, over_the_day, over_the_week
from .effects import Effect, effect
from .importance import Importance, importance
from .inputs import Input, inputs_of, typical_row
from .nearness import distance_to_points
from .relevance import Relevance, kernel_relevance, strongest
from .surface import Surface, surface, two_to_show
from .unnamed_rows import UnnamedRows, without_names

__all__ = [
    "Effect",
    "Importance",
    "Input",
    "Relevance",
    "Surface",
    "UnnamedRows",
    "distance_to_points",
    "effect",
    "importance",
    "inputs_of",
    "kernel_relevance",
    "over_the_calendar",
    "over_the_day",
    "over_the_week",
    "strongest",
    "surface",
    "two_to_show",
    "typical_row",
    "without_names",
]
