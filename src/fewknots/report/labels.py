"""Long texts from the user's table, shortened in the middle.

Related levels and columns often have the same beginning ("Wholesale of ..."), so beginning and end
are kept. The whole text is in the tooltip (`title`). A very long text (a cell may hold a megabyte)
is shortened there too, so that the page stays small.
"""

from ..markup import Markup, element, text

IN_A_CELL = 32  # characters
IN_A_SENTENCE = 60
_MOST = 1000  # characters in a tooltip


def shortened(full: object, most: int) -> str:
    """At most so many characters: "Wholesale of agr…raw materials"."""
    written = str(full)
    if len(written) <= most:
        return written
    tail = max((most - 1) * 9 // 20, 1)
    return f"{written[: most - 1 - tail].rstrip()}…{written[-tail:].lstrip()}"


def whole(full: object) -> str:
    """The whole text, up to a thousand characters."""
    return shortened(full, _MOST)


def label(full: object, most: int = IN_A_CELL) -> Markup:
    """A text in the page, with the whole text as a tooltip if it is shortened."""
    written = shortened(full, most)
    return text(full) if written == str(full) else element("span", written, title=whole(full))


def svg_label(full: object, most: int, **attributes: object) -> Markup:
    """The same for a text in an SVG picture."""
    written = shortened(full, most)
    title = None if written == str(full) else element("title", whole(full))
    return element("text", title, written, **attributes)
