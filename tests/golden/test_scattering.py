"""Scattering coefficients beside those of Kymatio 0.3.0 (kymatio_scattering.py).

What differs: Kymatio does not scale its wavelets so that they keep no more energy than there is,
so every wave here has a factor c; it takes coefficients at other places, given here; its angles
begin elsewhere; and its window at every fourth pixel leaves out high frequencies, 0.3 % of the
largest coefficient. It computes filters in single precision.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from fewknots.images.coefficients import (
    averages,
    coefficients,
    filters_for,
    padded_size,
    path_names,
)

HELD = json.loads((Path(__file__).parent / "numbers" / "scattering.json").read_text("utf-8"))
J, L = HELD["J"], HELD["L"]
WAVES = [(j, t) for j in range(J) for t in range(L)]


def ours():
    """In Kymatio's order, at its places."""
    start = (padded_size(16, J) - 16) // 2
    places = 2.0**J * np.arange(1, 3) - start
    average = tuple(averages(16, places, J, j) for j in range(J))
    filters = filters_for((16, 16), J, L, 2**J)._replace(rows=average, columns=average)
    with jax.enable_x64(True):
        found = np.asarray(coefficients(jnp.asarray(HELD["image"])[None], filters))[0]
    by_name = dict(zip(path_names(J, L), found, strict=True))

    def name(j, t):
        return f"j{j}a{(L // 2 - 1 - t) % L}"

    first = [by_name[name(*wave)] for wave in WAVES]
    second = [by_name[f"{name(*a)}_{name(*b)}"] for a in WAVES for b in WAVES if b[0] > a[0]]
    return by_name["mean"], np.array(first), np.array(second)


def test_every_coefficient():
    theirs = np.array(HELD["coefficients"])
    mean, first, second = ours()
    c = np.median(first[:L] / theirs[1 : 1 + L])
    np.testing.assert_allclose(mean, theirs[0], rtol=1e-4)
    ends = np.array([j for j, _ in WAVES] + [b[0] for a in WAVES for b in WAVES if b[0] > a[0]])
    found = np.concatenate([first / c, second / c**2])
    wanted = theirs[1:]
    for j, tolerance in enumerate([1e-4, 1e-4, 1e-2]):
        largest = np.abs(wanted[ends == j]).max()
        np.testing.assert_allclose(
            found[ends == j], wanted[ends == j], rtol=0.0, atol=tolerance * largest
        )
