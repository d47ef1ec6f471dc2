"""What a fitted classifier has learned, as numbers; `plots` and `report` draw them.

Everything here asks a classifier for no more than its predictions, its kernel and the places of its
inducing points, so it holds for every method, and the work is bounded whatever the table's size.
"""

from .effects import Effect, effect
from .nameless import Nameless, without_names
from .nearness import distance_to_points
from .relevance import Relevance, kernel_relevance, shuffled_change, strongest
from .surface import Surface, surface, two_to_show

__all__ = [
    "Effect",
    "Nameless",
    "Relevance",
    "Surface",
    "distance_to_points",
    "effect",
    "kernel_relevance",
    "shuffled_change",
    "strongest",
    "surface",
    "two_to_show",
    "without_names",
]
