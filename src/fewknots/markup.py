"""HTML and SVG from Python, with automatic escaping.

Only the function `text` converts a text to markup. It is applied to every child and every
attribute of an `element` that is not `Markup` already. So anything in a user's table (a column
called `<script>`, a label with quotes) stays a text.
"""

from collections.abc import Iterable
from html import escape

# Characters that XML and HTML cannot contain, not even escaped, and characters that reverse the
# direction of a text: shown as a replacement sign, so that no text hides another.
_FORBIDDEN = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)}
_FORBIDDEN |= dict.fromkeys(
    [*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"
)
_FORBIDDEN |= dict.fromkeys([*range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd")
_WITHOUT_END = {"meta", "link", "br", "hr", "input"}


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Any value as text between tags or inside quotes."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(str(value).translate(_FORBIDDEN), quote=True))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """<name attribute="...">children</name>.

    Attributes that are None are left out. A _ at the end of a name is dropped (`class_`), other _
    become hyphens (`aria_label`). Floats have two decimals, which is enough for SVG coordinates.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _WITHOUT_END:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[object], between: str = "") -> Markup:
    """Concatenate pieces; None is left out."""
    return Markup(between.join(text(child) for child in children if child is not None))


def _number(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return value
