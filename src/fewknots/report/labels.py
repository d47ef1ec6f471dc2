"""Long texts of the user's, shortened in the middle.

Levels and columns that belong together often begin alike ("Wholesale of ..."), so the end is kept
as well as the beginning. The whole text is one hover away, in `title`. A text without end (a cell
may hold a megabyte) is bounded there too, so that the page stays small.
"""

from .markup import Markup, element, text

IN_A_CELL = 32  # characters
IN_A_SENTENCE = 60
_MOST = 1000  # characters of what counts as the whole text


def shortened(full: object, most: int) -> str:
    """At most so many characters: "Wholesale of agr…raw materials"."""
    written = str(full)
    if len(written) <= most:
        return written
    tail = max((most - 1) * 9 // 20, 1)
    return f"{written[: most - 1 - tail].rstrip()}…{written[-tail:].lstrip()}"


def whole(full: object) -> str:
    """All of it, up to a thousand characters."""
    return shortened(full, _MOST)


def label(full: object, most: int = IN_A_CELL) -> Markup:
    """A text in the page, with the whole of it in `title` if it had to be shortened."""
    written = shortened(full, most)
    return text(full) if written == str(full) else element("span", written, title=whole(full))


def svg_label(full: object, most: int, **attributes: object) -> Markup:
    """A text in a picture, likewise."""
    written = shortened(full, most)
    told = None if written == str(full) else element("title", whole(full))
    return element("text", told, written, **attributes)
