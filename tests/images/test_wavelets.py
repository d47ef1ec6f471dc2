"""Filters: what frequencies they keep, and how much of them."""

import numpy as np
import pytest

from fewknots.images.wavelets import coarser, littlewood_paley, wavelets, window


@pytest.mark.parametrize(("grid", "J", "L"), [((36, 36), 2, 8), ((40, 24), 3, 6), ((12, 12), 1, 4)])
def test_no_frequency_gains_energy_and_none_is_lost(grid, J, L):
    sums = littlewood_paley(grid, J, L)
    assert sums.max() == pytest.approx(1.0, abs=1e-12)
    assert sums[0, 0] == pytest.approx(1.0)
    assert sums.min() > 0.02


def test_wavelets_have_mean_zero_and_answer_to_their_own_frequency():
    each = wavelets((64, 64), 3, 8)
    np.testing.assert_allclose(each[..., 0, 0], 0.0, atol=1e-14)
    assert window((64, 64), 3)[0, 0] == 1.0
    frequency = 2.0 * np.pi * np.fft.fftfreq(64)
    for j in range(1, 3):
        for t in range(8):
            row, column = np.unravel_index(each[j, t].argmax(), (64, 64))
            angle = np.pi * t / 8
            wanted = 0.75 * np.pi / 2**j * np.array([np.cos(angle), np.sin(angle)])
            found = frequency[[row, column]]
            np.testing.assert_allclose(found, wanted, atol=0.15)


def test_the_formula_is_the_transform_of_a_sampled_wave():
    """In space: a Gaussian times a wave, less a Gaussian, repeated with the grid."""
    P, width, frequency, angle = 24, 1.6, 0.375 * np.pi, np.pi / 4
    y, x = np.meshgrid(*(np.arange(-3 * P, 3 * P),) * 2, indexing="ij")
    along = y * np.cos(angle) + x * np.sin(angle)
    across = x * np.cos(angle) - y * np.sin(angle)
    gaussian = np.exp(-0.5 * (along**2 + across**2) / width**2)  # L = 4: as wide as long
    wave = gaussian * np.exp(1j * frequency * along)
    wave, gaussian = (f.reshape(6, P, 6, P).sum(axis=(0, 2)) for f in (wave, gaussian))
    direct = np.fft.fft2(wave - wave.sum() / gaussian.sum() * gaussian).real
    ours = wavelets((P, P), 2, 4)[1, 1]
    np.testing.assert_allclose(ours / ours.max(), direct / direct.max(), atol=1e-10)


def test_coarser_grids_keep_low_frequencies():
    frequency = np.fft.fftfreq(24, 1 / 24)
    kept = coarser(np.broadcast_to(frequency, (24, 24)), 2)
    np.testing.assert_array_equal(kept[0], np.fft.fftfreq(12, 1 / 12))
