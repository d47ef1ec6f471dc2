"""The small parts: escaping, numbers, ticks, the picture of a surface, the line in it."""

import base64
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewknots.markup import Markup, element, join
from fewknots.report.axes import spread, ticks
from fewknots.report.heat_map import heat_map, level_line
from fewknots.report.numbers import cell, percent, short


def test_elements_escape_what_is_not_markup():
    assert element("b", "<i>", element("i", "&"), title='"') == (
        '<b title="&quot;">&lt;i&gt;<i>&amp;</i></b>'
    )
    assert element("p", None, class_="a", aria_label=None) == '<p class="a"></p>'
    assert join(["<", Markup("<br>")], ",") == "&lt;,<br>"


@given(st.text())
@settings(max_examples=50, deadline=None)
def test_no_text_becomes_a_tag(text):
    written = element("p", text, title=text)
    assert written.count("<") == 2
    assert written.count('"') == 2
    written.encode("utf-8")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.24771, "0.2477"), (1234.0, "1,234"), (0.0, "0"), (-2.5, "-2.5"), (1e-7, "1.00e-07"),
        (3e9, "3.00e+09"), (float("nan"), "–"), (None, "–"), (float("inf"), "∞"), (100.0, "100"),
    ],
)  # fmt: skip
def test_numbers(value, shown):
    assert short(value) == shown


def test_shares_and_cells():
    assert percent(0.123) == "12.3\u00a0%"
    assert percent(1.0) == "100\u00a0%"
    assert cell(True) == "yes"
    assert cell("") == cell(None) == "–"


@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-6, 1e9),
)
def test_ticks_lie_inside_and_are_a_few(low, width):
    low, high = spread([low, low + width])
    found = ticks(low, high)
    assert 2 <= len(found) <= 11
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in found)


def test_heat_map_is_a_picture_of_its_grid():
    image = pytest.importorskip("PIL.Image")
    address = heat_map(np.array([[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]]))
    picture = image.open(io.BytesIO(base64.b64decode(address.split(",")[1])))
    pixels = np.array(picture.convert("RGBA"))
    assert pixels.shape == (2, 3, 4)
    assert np.all(pixels[0, :, 3] == 0)  # the grid's last row is on top, and p = ½ is clear
    assert pixels[1, 0, 2] > pixels[1, 0, 0]  # blue for 0
    assert pixels[1, 2, 0] > pixels[1, 2, 2]  # orange for 1


def test_level_line_of_a_circle():
    side = np.linspace(-1.0, 1.0, 41)
    across, up = np.meshgrid(side, side)
    pieces = np.array(level_line(side, side, np.hypot(across, up), 0.7))
    assert np.allclose(np.hypot(pieces[..., 0], pieces[..., 1]), 0.7, atol=0.005)
    assert np.linalg.norm(pieces[:, 0] - pieces[:, 1], axis=1).sum() == pytest.approx(
        2 * np.pi * 0.7, rel=0.01
    )
