"""A grid of probabilities, or of regions, as an embedded PNG, and its contour line."""

import base64
import struct
import zlib

import numpy as np
from jaxtyping import Float, Int

from ..explain.colours import CLASS_COLOURS, red_green_blue

_NEGATIVE, _POSITIVE = (0x2F, 0x6D, 0xB3), (0xD9, 0x73, 0x0D)  # as in page.css
_STRONGEST = 0.7  # opacity at p = 0 and p = 1; at ½ it is transparent, for light and dark pages
_COLOURS = 201
_SHADES = 25  # of each colour of a region


def heat_map(probability: Float[np.ndarray, "G H"]) -> str:
    """A PNG as a data URL: one pixel per probability, the first row of the grid at the bottom.

    Each pixel is an index into a palette from the colour of one class through transparent to the
    colour of the other: one byte per pixel, and a few kilobytes in all after compression.
    """
    index = np.round(probability * (_COLOURS - 1)).astype(np.uint8)
    level = np.linspace(-1.0, 1.0, _COLOURS)
    palette = b"".join(bytes(_POSITIVE if value > 0 else _NEGATIVE) for value in level)
    return _png(index, palette, np.abs(level))


def region_map(answer: Int[np.ndarray, "G H"], certainty: Float[np.ndarray, "G H"]) -> str:
    """The same for many classes: the colour of the answer, fading to transparent at certainty 0."""
    shade = np.round(np.clip(certainty, 0.0, 1.0) * (_SHADES - 1)).astype(int)
    index = (answer % len(CLASS_COLOURS)) * _SHADES + shade
    palette = b"".join(bytes(red_green_blue(colour)) * _SHADES for colour in CLASS_COLOURS)
    opacity = np.tile(np.linspace(0.0, 1.0, _SHADES), len(CLASS_COLOURS))
    return _png(index.astype(np.uint8), palette, opacity)


def _png(index: np.ndarray, palette: bytes, strength: np.ndarray) -> str:
    """Pixels as indices into a palette of colours, and of opacities relative to the strongest."""
    index = index[::-1]
    height, width = index.shape
    opacity = np.round(255 * _STRONGEST * strength).astype(np.uint8).tobytes()
    lines = b"".join(b"\0" + line.tobytes() for line in index)
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", palette),
            _chunk(b"tRNS", opacity),
            _chunk(b"IDAT", zlib.compress(lines, 9)),
            _chunk(b"IEND", b""),
        ]
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def level_line(
    x: Float[np.ndarray, " H"],
    y: Float[np.ndarray, " G"],
    values: Float[np.ndarray, "G H"],
    level: float,
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The contour line of `values` at `level` as short segments, one or two per cell.

    Marching squares: on each side of a cell, linear interpolation gives the point on the line.
    """
    above = values > level
    corners = np.stack([above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1]])
    crossed = corners.any(axis=0) & ~corners.all(axis=0)
    pieces = []
    for i, j in np.argwhere(crossed):
        around = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
        found = []
        for a, b in zip(around, around[1:] + around[:1], strict=True):
            if above[a] != above[b]:
                share = (level - values[a]) / (values[b] - values[a])
                across = x[a[1]] + share * (x[b[1]] - x[a[1]])
                found.append((float(across), float(y[a[0]] + share * (y[b[0]] - y[a[0]]))))
        pieces += list(zip(found[::2], found[1::2], strict=True))
    return pieces


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
