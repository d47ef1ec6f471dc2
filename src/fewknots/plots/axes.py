"""Axes and colours; matplotlib is imported with the first plot."""

from typing import Any

from ..extras import missing

# Blue and orange: nearly everybody can distinguish them, also in grey.
NEGATIVE, POSITIVE, INK = "#2f6db3", "#d9730d", "#444444"


def axes(ax: Any = None) -> Any:
    """`ax`, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(missing("plots need matplotlib", "plots")) from None
    return pyplot.subplots(layout="constrained")[1]


def probability_axis(axis: Any) -> None:
    """Set an axis to 0 to 1, with space for marks at the ends."""
    axis.set_ticks([0.0, 0.25, 0.5, 0.75, 1.0])
    axis.axes.set(**{f"{axis.axis_name}lim": (-0.02, 1.02)})


def between_classes() -> Any:
    """Colour map from one class through white to the other, pale enough to draw dots on."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("classes", ["#82a7d1", "#ffffff", "#e8ab6e"])
