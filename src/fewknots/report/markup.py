"""HTML and SVG from Python, with escaping that cannot be forgotten.

A text becomes markup in one place only, `text`, through which every child and every attribute of
an `element` goes unless it is `Markup` already. So whatever a user's table holds (a column called
`<script>`, a label with quotes) stays a text.
"""

from collections.abc import Iterable
from html import escape

# Characters that XML and HTML have no way to hold, not even escaped, and the marks that turn the
# direction of a line of text around: shown as a replacement sign, so that no text hides another.
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

    Attributes that are None are left out. Names may end in _ (`class_`), and _ inside stands for a
    hyphen (`aria_label`); floats are written with two decimals, plenty for places in a picture.
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
    """Several pieces as one; None is left out."""
    return Markup(between.join(text(child) for child in children if child is not None))


def _number(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return value
