"""A grid of probabilities as an embedded PNG, and its contour line."""

import base64
import struct
import zlib

import numpy as np
from jaxtyping import Float

_NEGATIVE, _POSITIVE = (0x2F, 0x6D, 0xB3), (0xD9, 0x73, 0x0D)  # as in page.css
_STRONGEST = 0.7  # opacity at p = 0 and p = 1; at ½ it is transparent, for light and dark pages
_COLOURS = 201


def heat_map(probability: Float[np.ndarray, "G H"]) -> str:
    """A PNG as a data URL: one pixel per probability, the first row of the grid at the bottom.

    Each pixel is an index into a palette from the colour of one class through transparent to the
    colour of the other: one byte per pixel, and a few kilobytes in all after compression.
    """
    index = np.round(probability[::-1] * (_COLOURS - 1)).astype(np.uint8)
    height, width = index.shape
    level = np.linspace(-1.0, 1.0, _COLOURS)
    palette = b"".join(bytes(_POSITIVE if value > 0 else _NEGATIVE) for value in level)
    opacity = np.round(255 * _STRONGEST * np.abs(level)).astype(np.uint8).tobytes()
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
