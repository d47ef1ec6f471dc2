"""Colours for more than two classes, the same in `plots` and in `report` (page.css has them too).

They are of medium lightness, so that they can be seen on white and on black. Classes beyond the
tenth begin again with the first colour: figures with so many classes have their names in them.
"""

CLASS_COLOURS = (
    "#2f6db3",  # blue
    "#d9730d",  # orange
    "#2e9e5b",  # green
    "#c23b6b",  # red
    "#8a5cc7",  # violet
    "#b08a00",  # mustard
    "#1f9aa8",  # teal
    "#8c5a3c",  # brown
    "#6d7681",  # grey
    "#7a9a01",  # olive
)


def colour_of(number: int) -> str:
    """The colour of a class, by its number in `classes_`."""
    return CLASS_COLOURS[number % len(CLASS_COLOURS)]


def red_green_blue(colour: str) -> tuple[int, int, int]:
    """The three numbers from 0 to 255 of a colour such as "#2f6db3"."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
