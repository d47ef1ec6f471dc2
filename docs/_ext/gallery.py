"""The gallery's order, and its thumbnails: one panel of each program's picture."""

from pathlib import Path
from typing import NamedTuple

from PIL import Image

SIZE = (480, 320)


class Panel(NamedTuple):
    """A part of a picture, in shares of its width and height; its height follows from SIZE."""

    left: float
    right: float
    top: float


# In the order of the gallery: first steps, then tables, kernels, likelihoods and the rest.
PANELS = {
    "banana": Panel(0.5, 0.995, 0.55),
    "doubt": Panel(0.0, 0.41, 0.24),
    "three_classes": Panel(0.065, 0.47, 0.13),
    "calibration": Panel(0.535, 0.99, 0.22),
    "digits": Panel(0.0, 0.5, 0.0),
    "tables": Panel(0.11, 0.985, 0.07),
    "warps": Panel(0.475, 0.85, 0.12),
    "flights": Panel(0.62, 0.893, 0.07),
    "evidence": Panel(0.675, 1.0, 0.5),
    "counts": Panel(0.5, 1.0, 0.16),
    "noise": Panel(0.53, 0.99, 0.08),
    "robust": Panel(0.53, 0.99, 0.12),
    "functions": Panel(0.09, 0.99, 0.04),
    "active_learning": Panel(0.0, 0.5, 0.05),
    "cluster": Panel(0.51, 0.99, 0.18),
}


class ReadingOrder:
    """Sorts the programs for sphinx-gallery."""

    def __init__(self, folder: str):
        self.places = {f"plot_{name}.py": place for place, name in enumerate(PANELS)}

    def __call__(self, file: str) -> int:
        return self.places[file]


def cropped(picture: Image.Image, panel: Panel) -> Image.Image:
    """The panel of the picture, in the size of a thumbnail."""
    width, height = SIZE
    left, right = (share * picture.width for share in (panel.left, panel.right))
    top = panel.top * picture.height
    bottom = top + (right - left) * height / width
    if bottom > picture.height:
        raise ValueError(f"{panel} ends below its picture, which is {picture.size} large")
    return picture.resize(SIZE, Image.Resampling.LANCZOS, box=(left, top, right, bottom))


def _replace(app):
    images = Path(app.srcdir) / "auto_examples" / "images"
    for name, panel in PANELS.items():
        source = images / f"sphx_glr_plot_{name}_001.png"
        if source.exists():  # not if the programs did not run
            with Image.open(source) as picture:
                target = images / "thumb" / f"sphx_glr_plot_{name}_thumb.png"
                cropped(picture, panel).save(target)


def setup(app):
    app.connect("builder-inited", _replace, priority=900)  # after the gallery, which is at 500
    return {"parallel_read_safe": True}
