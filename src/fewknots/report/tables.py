"""Tables that sort on a click, with a hint if there are more columns to the right.

sort.js and scroll.js do this; without JavaScript they are plain tables in a box that scrolls.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..markup import Markup, element, text
from .labels import label, whole
from .numbers import cell


class Entry(NamedTuple):
    """A cell whose sort key differs from its text."""

    shown: object
    value: float | str | None


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table whose columns sort on a click on their heading."""
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    head = [
        element(
            "th",
            element("button", label(name), type="button"),
            scope="col",
            class_="number" if is_number else None,
        )
        for name, is_number in zip(header, numeric, strict=True)
    ]
    body = [
        element("tr", *(_cell(entry, n) for entry, n in zip(row, numeric, strict=True)))
        for row in rows
    ]
    return boxed(caption, element("thead", element("tr", *head)), element("tbody", *body))


def boxed(caption: str, *parts: Markup, kind: str | None = None) -> Markup:
    """A table in a box that scrolls sideways if the page is too narrow; `kind`: a CSS class."""
    box = element(
        "div",
        element("table", element("caption", caption), *parts),
        class_="scroll" if kind is None else f"scroll {kind}",
        tabindex="0",  # so that the arrow keys can scroll it
        role="region",
        aria_label=caption,
    )
    hint = element("p", "More columns to the right: scroll sideways →", class_="more")
    return element("div", hint, element("div", box, class_="edges"), class_="wide")


def facts(pairs: Sequence[tuple[object, object]]) -> Markup:
    """Names and values, one below the other."""
    lines = [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    return element("dl", *lines)


def _is_number(entry: Any) -> bool:
    value = entry.value if isinstance(entry, Entry) else entry
    return value is None or (
        isinstance(value, int | float | np.number) and not isinstance(value, bool)
    )


def _cell(entry: Any, numeric: bool) -> Markup:
    shown: object
    value: Any
    shown, value = entry if isinstance(entry, Entry) else (label(cell(entry)), entry)
    if numeric:
        known = value is not None and value == value
        written = f"{float(value):.12g}" if known else None  # NaN cannot be sorted
        return element("td", shown, class_="number", data_value=written)
    return element("td", shown, data_value=None if text(whole(value)) == shown else whole(value))
