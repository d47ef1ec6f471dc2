"""Figures as files: drawn without a screen, saved as PNG and PDF, the same from the same numbers.

matplotlib is imported here and not at the top: everything but drawing works without it.
"""

from pathlib import Path
from typing import Any

_TO_LOOK_AT = {"dpi": 120}
_WITHOUT_DATES = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}


def new_figure(rows: int, columns: int, width: float, height: float, **arguments: Any) -> Any:
    """(figure, rows × columns array of axes), `width` and `height` in inches."""
    import matplotlib

    matplotlib.use("Agg")  # a file, never a window
    from matplotlib import pyplot

    return pyplot.subplots(
        rows,
        columns,
        figsize=(width, height),
        layout="constrained",
        squeeze=False,
        **arguments,
    )


def save_figure(figure: Any, folder: Path, name: str = "figure") -> None:
    """Write `name`.png and `name`.pdf into the folder, and forget the figure."""
    from matplotlib import pyplot

    for kind, metadata in _WITHOUT_DATES.items():
        figure.savefig(folder / f"{name}.{kind}", metadata=metadata, **_TO_LOOK_AT)
    pyplot.close(figure)
