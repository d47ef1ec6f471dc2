"""A small plotting module: axes, lines, bands, dots and bars as inline SVG.

Colours are CSS classes (page.css defines them for light, dark and print), text is text in the
page's font, and a figure is 360 units wide, so that a phone shows it in its original size.
"""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np

from ..explain.colours import CLASS_COLOURS
from ..markup import Markup, element, join
from .labels import svg_label
from .numbers import short

Number = int | float | np.integer

WIDTH = 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 16.0, 10.0, 40.0

_IN_A_NAME, _IN_A_TICK = 46, 22  # characters; longer texts are shortened
_CHARACTER = 6.3  # width of a character, roughly

UNIT = (-0.02, 1.02)  # range for probabilities, with space for marks at its ends


class Scale(NamedTuple):
    """Linear map from data values to SVG coordinates."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: Any) -> Any:
        share = (np.asarray(value, np.float64) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high, with steps of 1, 2 or 5 times a power of ten."""
    step = (high - low) / about
    power = 10.0 ** floor(log10(step))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= step * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(i * step, 12 - floor(log10(step))) for i in range(first, last + 1)]


def labelled(places: Sequence[float]) -> list[tuple[float, str]]:
    """Ticks at these values, labelled with their numbers."""
    return [(place, short(place)) for place in places]


PROBABILITIES = labelled([0.0, 0.25, 0.5, 0.75, 1.0])


def spread(*values: Any, margin: float = 0.04) -> tuple[float, float]:
    """A range that contains all these values, with a margin; its width is never zero."""
    everything = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    low, high = float(everything.min()), float(everything.max())
    room = margin * (high - low)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = max(0.05 * abs(high), 1e-3)
    return low - room, high + room


class Axes:
    """A rectangle with two scales, and the marks drawn in it."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_name: str = "",
        y_name: str = "",
        height: float = 270.0,
        left: float | None = None,
        bottom: float = _BOTTOM,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> None:
        """`left` and `bottom` are the space for labels of the axes; None: as much as needed."""
        self.height = height
        self.y = Scale(*y, height - bottom, _TOP)
        self._names = x_name, y_name
        self._x_ticks = labelled(ticks(*x)) if x_ticks is None else x_ticks
        self._y_ticks = labelled(ticks(*y)) if y_ticks is None else y_ticks
        if left is None:
            longest = max((len(label) for _, label in self._y_ticks), default=0)
            room = 22.0 if y_name else 10.0
            left = max(_LEFT, room + _CHARACTER * min(longest, _IN_A_TICK))
        self.x = Scale(*x, left, WIDTH - _RIGHT)
        self._marks: list[Markup] = []

    # --- marks --------------------------------------------------------------------------------

    def line(self, x: Any, y: Any, kind: str) -> None:
        """A line through points; `kind` is its CSS class."""
        self._marks.append(element("path", d=self._path(x, y), class_=f"line {kind}"))

    def band(self, x: Any, low: Any, high: Any, kind: str) -> None:
        """The area between two curves."""
        x = np.concatenate([x, np.asarray(x)[::-1]])
        outline = self._path(x, np.concatenate([low, np.asarray(high)[::-1]])) + "Z"
        self._marks.append(element("path", d=outline, class_=f"area {kind}"))

    def dots(self, x: Any, y: Any, radius: Any, kind: str, tooltips: Sequence[str] = ()) -> None:
        """Circles, with a tooltip each."""
        places = zip(self.x(x), self.y(y), np.broadcast_to(radius, np.shape(x)), strict=True)
        for number, (across, up, size) in enumerate(places):
            title = element("title", tooltips[number]) if tooltips else None
            circle = {"cx": float(across), "cy": float(up), "r": float(size)}
            self._marks.append(element("circle", title, **circle, class_=kind))

    def many_dots(self, x: Any, y: Any, kind: str) -> None:
        """Equal dots in one element: lines of length zero with round ends."""
        places = zip(self.x(x), self.y(y), strict=True)
        path = "".join(f"M{across:.1f} {up:.1f}h0" for across, up in places)
        self._marks.append(element("path", d=path, class_=f"dots {kind}"))

    def whiskers(self, x: Any, low: Any, high: Any, kind: str) -> None:
        """Vertical lines from low to high."""
        places = zip(self.x(x), self.y(low), self.y(high), strict=True)
        path = "".join(f"M{across:.1f} {a:.1f}V{b:.1f}" for across, a, b in places)
        self._marks.append(element("path", d=path, class_=f"line {kind}"))

    def spans(self, low: Any, high: Any, y: Any, kind: str) -> None:
        """Horizontal lines from low to high."""
        places = zip(self.x(low), self.x(high), self.y(y), strict=True)
        path = "".join(f"M{a:.1f} {up:.1f}H{b:.1f}" for a, b, up in places)
        self._marks.append(element("path", d=path, class_=f"line {kind}"))

    def box(
        self, left: Number, right: Number, low: Number, high: Number, kind: str, tooltip: str
    ) -> None:
        """A filled rectangle, given by its edges, with a tooltip."""
        x0, x1 = sorted((float(self.x(left)), float(self.x(right))))
        y0, y1 = sorted((float(self.y(low)), float(self.y(high))))
        shape = {"x": x0, "y": y0, "width": max(x1 - x0, 0.1), "height": max(y1 - y0, 0.1)}
        title = element("title", tooltip)
        self._marks.append(element("rect", title, **shape, class_=f"bar {kind}"))

    def add(self, mark: Markup) -> None:
        """Any other mark, in the figure's own units."""
        self._marks.append(mark)

    # --- the picture --------------------------------------------------------------------------

    def svg(self, alternative: str) -> Markup:
        """The picture; `alternative` is its text for screen readers."""
        frame = {
            "x": self.x.begin,
            "y": self.y.end,
            "width": self.x.end - self.x.begin,
            "height": self.y.begin - self.y.end,
        }
        # An inner svg clips marks outside the frame; clip-path would need an id unique in the page.
        view = " ".join(f"{value:g}" for value in frame.values())
        return element(
            "svg",
            *self._grid(),
            element("svg", *self._marks, **frame, viewBox=view),
            element("rect", **frame, class_="frame"),
            *self._labels(),
            viewBox=f"0 0 {WIDTH:g} {self.height:g}",
            role="img",
            aria_label=alternative,
            xmlns="http://www.w3.org/2000/svg",
        )

    def _grid(self) -> list[Markup]:
        down = "".join(
            f"M{self.x(p):.1f} {self.y.begin:.1f}V{self.y.end:.1f}" for p, _ in self._x_ticks
        )
        along = "".join(
            f"M{self.x.begin:.1f} {self.y(p):.1f}H{self.x.end:.1f}" for p, _ in self._y_ticks
        )
        return [element("path", d=down + along, class_="grid")]

    def _labels(self) -> list[Markup]:
        bottom, left = self.y.begin, self.x.begin
        middle = {"text_anchor": "middle"}
        labels = [
            svg_label(label, _IN_A_TICK, x=float(self.x(place)), y=bottom + 15, **middle)
            for place, label in self._apart(self._x_ticks)
        ]
        labels += [
            svg_label(label, _IN_A_TICK, x=left - 6, y=float(self.y(place)) + 4, text_anchor="end")
            for place, label in self._y_ticks
        ]
        middle_x, middle_y = (self.x.begin + self.x.end) / 2, (self.y.begin + self.y.end) / 2
        named = middle | {"class_": "name"}
        x_name, y_name = self._names
        if x_name:
            labels.append(svg_label(x_name, _IN_A_NAME, x=middle_x, y=self.height - 6, **named))
        if y_name:
            turned = f"translate(11 {middle_y:g}) rotate(-90)"
            labels.append(svg_label(y_name, _IN_A_NAME, transform=turned, **named))
        return labels

    def _apart(self, marked: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
        """The labels of the x axis, except those that would overlap the one before."""
        end = -WIDTH
        for place, label in marked:
            half = 0.5 * _CHARACTER * len(label)
            if float(self.x(place)) - half > end:
                yield place, label
                end = float(self.x(place)) + half

    def _path(self, x: Any, y: Any) -> str:
        places = zip(self.x(x), self.y(y), strict=True)
        return "M" + "L".join(f"{across:.1f} {up:.1f}" for across, up in places)


def key(*entries: tuple[str, str]) -> Markup:
    """A legend; each entry is a CSS class and its text."""
    return element(
        "p",
        join(
            (element("span", element("i", class_=kind), " ", words) for kind, words in entries), " "
        ),
        class_="key",
    )


def class_key(labels: Sequence[str]) -> Markup | None:
    """The legend of figures that show all classes, of two the positive one first.

    None if there are more classes than colours: such figures have the names in them.
    """
    if len(labels) > len(CLASS_COLOURS):
        return None
    entries = [(class_kind(c, len(labels)), name) for c, name in enumerate(labels)]
    return key(*(entries[::-1] if len(labels) == 2 else entries))


def class_kind(number: int, n_classes: int) -> str:
    """The CSS class with the colour of a class (classes.css)."""
    if n_classes == 2:
        return ("negative", "positive")[number]
    return f"k{number % len(CLASS_COLOURS)}"


def unit_axes(x_name: str, y_name: str) -> Axes:
    """Axes from 0 to 1 in both directions."""
    at = PROBABILITIES
    return Axes(UNIT, UNIT, x_name=x_name, y_name=y_name, height=300.0, x_ticks=at, y_ticks=at)


def figure(picture: Markup, caption: object, *above: Markup | None) -> Markup:
    """A picture with its legend above and its caption below."""
    below = None if caption is None else element("figcaption", caption)
    return element("figure", *above, picture, below)
