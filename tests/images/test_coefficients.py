"""Scattering coefficients by their properties, and beside convolutions written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.images.coefficients import (
    coefficients,
    filters_for,
    mirrored,
    padded_size,
    path_names,
    places,
)
from fewknots.images.wavelets import wavelets, window

J, L, SIZE = 2, 4, (16, 20)


def of(images, stride=4):
    with jax.enable_x64(True):
        return np.asarray(coefficients(jnp.asarray(images), filters_for(SIZE, J, L, stride)))


def circular(x, filter_of_frequency):
    return np.fft.ifft2(np.fft.fft2(x) * filter_of_frequency)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).normal(size=(3, *SIZE))


def test_the_definition_written_out(images):
    """With nothing dropped between; the error is that of waves seen at every second pixel."""
    grid = padded_size(16, J), padded_size(20, J)
    waves, phi = wavelets(grid, J, L), window(grid, J)
    x = images[0][mirrored(16, J)][:, mirrored(20, J)]
    start = [(P - n) // 2 for P, n in zip(grid, SIZE, strict=True)]

    names = path_names(J, L)
    found = dict(zip(names, of(images[:1])[0], strict=True))
    assert len(found) == 1 + J * L + L * L
    first = np.abs(circular(x, waves[0, 1]))
    second = np.abs(circular(first, waves[1, 2]))
    everywhere = {"mean": x, "j0a1": first, "j1a3": np.abs(circular(x, waves[1, 3]))}
    for name, u in (everywhere | {"j0a1_j1a2": second}).items():
        frequencies = [2j * np.pi * np.fft.fftfreq(P) for P in grid]
        rows, columns = (places(n, 4) + s for n, s in zip(SIZE, start, strict=True))
        across = np.exp(np.outer(rows, frequencies[0])) / grid[0]
        along = np.exp(np.outer(columns, frequencies[1])) / grid[1]
        wanted = (across @ (np.fft.fft2(u) * phi) @ along.T).real
        scale = np.abs(wanted).max()
        tolerance = 1e-3 if name in ("mean", "j0a1") else 0.05
        np.testing.assert_allclose(found[name], wanted, rtol=0.0, atol=tolerance * scale)


def test_energy_never_grows_and_images_come_closer(images):
    """A transform of norm one at most, of what is seen at every fourth pixel."""
    continued = images[:, mirrored(16, J)][:, :, mirrored(20, J)]
    found = of(images)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        apart = 16.0 * np.sum((found[one] - found[other]) ** 2)
        assert apart < np.sum((continued[one] - continued[other]) ** 2)
    energy = 16.0 * np.sum(found**2, axis=(1, 2, 3))
    assert np.all(energy < np.sum(continued**2, axis=(1, 2)))
    np.testing.assert_allclose(of(3.0 * images), 3.0 * found, rtol=1e-10, atol=1e-12)


def test_a_moved_image_has_nearly_the_same_coefficients():
    y, x = np.mgrid[:16, :20]

    def blob(shift):
        return np.exp(-0.5 * ((y - 8) ** 2 + (x - 9 - shift) ** 2) / 2.0)[None]

    def distance(f, shift):
        return np.linalg.norm(f(blob(shift)) - f(blob(0))) / np.linalg.norm(f(blob(0)))

    assert distance(of, 1) < 0.5 * distance(lambda image: image, 1)
    assert distance(of, 1) < 0.5 * distance(of, 3)


def test_a_plane_wave_has_one_wavelet_and_no_second_waves():
    """Waves that fit the grid and its mirror image: a cosine about the first pixel's centre."""
    k = 0.375 * np.pi
    wave = np.cos(k * np.arange(64))[None, None, :] * np.ones((1, 64, 1))
    with jax.enable_x64(True):
        found = np.asarray(coefficients(jnp.asarray(wave), filters_for((64, 64), 2, 8, 4)))[0]
    middle = dict(zip(path_names(2, 8), found[:, 8, 8], strict=True))
    filters = wavelets((72, 72), 2, 8)
    response = filters[1, 4][0]  # along columns: the angle π/2
    frequency = 2.0 * np.pi * np.fft.fftfreq(72)
    at = np.interp(k, frequency[:36], response[:36])
    assert middle["j1a4"] == pytest.approx(0.5 * at, rel=0.01)
    assert max(middle, key=lambda name: abs(middle[name])) == "j1a4"
    assert abs(middle["j1a0"]) < 0.05 * middle["j1a4"]
    assert abs(middle["mean"]) < 1.01 * np.exp(-1.28 * k**2)
    assert abs(middle["j0a4_j1a4"]) < 0.05 * middle["j1a4"]


def test_a_constant_image_is_its_mean():
    found = of(np.full((1, *SIZE), 2.5))[0]
    np.testing.assert_allclose(found[0], 2.5, rtol=1e-3)
    np.testing.assert_allclose(found[1:], 0.0, atol=1e-12)
