"""The transformer: shapes, blocks, conventions, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from fewknots.exceptions import DataError
from fewknots.images import Scattering
from fewknots.images import scattering as module

ROWS = load_digits().data[:60]
IMAGES = ROWS.reshape(60, 8, 8)


def quick(**arguments):
    return Scattering(**({"J": 1, "L": 4, "n_components": 10} | arguments))


@pytest.fixture(scope="module")
def fitted():
    return quick(shape=(8, 8)).fit(ROWS)


def test_rows_and_images_and_integers_are_the_same(fitted):
    wanted = fitted.transform(ROWS)
    assert wanted.shape == (60, 10)
    assert wanted.dtype == np.float32
    assert np.var(wanted, axis=0).mean() == pytest.approx(1.0, rel=0.03)
    np.testing.assert_array_equal(fitted.transform(IMAGES), wanted)
    np.testing.assert_array_equal(fitted.transform(IMAGES[..., None]), wanted)
    of_integers = quick().fit(IMAGES.astype(np.uint8))
    np.testing.assert_array_equal(of_integers.transform(IMAGES), wanted)
    np.testing.assert_array_equal(quick(shape=(8, 8)).fit_transform(ROWS), wanted)


@pytest.mark.parametrize("nonlinearity", ["root", "log"])
def test_units_of_pixels_do_not_matter(nonlinearity):
    arguments = {"nonlinearity": nonlinearity, "dtype": "float64"}
    wanted = quick(**arguments).fit_transform(IMAGES)
    found = quick(**arguments).fit_transform(IMAGES / 16.0)
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_blocks_of_any_size(fitted, monkeypatch):
    wanted = fitted.transform(ROWS)
    monkeypatch.setattr(module, "_BYTES", {"cpu": 7 * 8 * 12 * 12 * 16, "gpu": 2**31})
    assert fitted._block_size() == 7
    np.testing.assert_allclose(fitted.transform(ROWS), wanted, atol=1e-5)
    again = clone(fitted).fit(ROWS)
    np.testing.assert_allclose(again.explained_variance_, fitted.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(again.transform(ROWS), wanted, atol=1e-3)
    monkeypatch.setattr(module, "_BYTES", {"cpu": 1, "gpu": 1})
    assert fitted._block_size() == 1


def test_colours_are_one_after_the_other():
    """Each channel is scattered by itself: coefficients of colours are those of three images."""
    rng = np.random.default_rng(0)
    colours = rng.random((5, 8, 12, 3))
    plain = {"n_components": None, "nonlinearity": None, "dtype": "float64"}
    found = quick(**plain).fit(colours)
    rows = found.transform(colours)
    each = [quick(**plain).fit_transform(colours[..., c]) for c in range(3)]
    np.testing.assert_allclose(rows, np.hstack(each), rtol=1e-12)
    names = found.get_feature_names_out()
    assert len(names) == rows.shape[1] == 3 * 5 * 4 * 6
    assert names[0] == "mean_c0_y0x0"
    assert names[-1] == "j0a3_c2_y3x5"
    flat = quick(shape=(8, 12, 3), **plain).fit_transform(colours.reshape(5, -1))
    np.testing.assert_array_equal(flat, rows)


@pytest.mark.parametrize("nonlinearity", ["root", "log"])
def test_nonlinearities_are_their_formulas(nonlinearity):
    plain = {"n_components": None, "dtype": "float64", "J": 2}
    s = quick(nonlinearity=None, **plain).fit_transform(IMAGES).reshape(60, 1 + 8 + 16, 4)
    tau = 0.1 * np.abs(s).mean(axis=(0, 2))[None, :, None]
    wanted = np.log1p(s / tau) if nonlinearity == "log" else np.sqrt(1.0 + s / tau) - 1.0
    found = quick(nonlinearity=nonlinearity, **plain).fit_transform(IMAGES)
    np.testing.assert_allclose(found, wanted.reshape(60, -1), rtol=1e-9, atol=1e-12)
    negative = quick(nonlinearity=nonlinearity, **plain).fit_transform(-IMAGES)
    odd = found.reshape(60, -1, 4)
    odd[:, 0] *= -1.0  # a mean has a sign, a modulus has none
    np.testing.assert_allclose(negative, odd.reshape(60, -1), rtol=1e-9, atol=1e-12)


def test_few_images_are_looked_at():
    """All have a part in τ, and evenly spaced ones in the components."""
    plain = {"nonlinearity": None}
    found = quick(max_fit_images=20, **plain).fit(IMAGES)
    wanted = quick(**plain).fit(IMAGES[np.linspace(0, 59, 20).astype(int)])
    np.testing.assert_array_equal(found.components_, wanted.components_)
    assert not np.allclose(found.mean_, quick(**plain).fit(IMAGES).mean_)


def test_conventions(fitted):
    assert fitted.n_features_in_ == 64
    assert fitted.image_shape_ == (8, 8, 1)
    assert list(fitted.get_feature_names_out()[:2]) == ["scattering0", "scattering1"]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(ROWS), fitted.transform(ROWS))
    table = pd.DataFrame(ROWS, columns=[f"pixel{k}" for k in range(64)])
    framed = quick(shape=(8, 8)).set_output(transform="pandas").fit_transform(table)
    assert list(framed.columns) == list(fitted.get_feature_names_out())
    np.testing.assert_array_equal(framed.to_numpy(), fitted.transform(ROWS))
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        quick().transform(IMAGES)


def test_a_blank_image_among_others_is_a_finite_row():
    images = IMAGES.copy()
    images[3] = 0.0
    assert np.isfinite(quick().fit_transform(images)).all()
    np.testing.assert_array_equal(
        quick(nonlinearity=None, n_components=None).fit_transform(images)[3], 0.0
    )


def test_what_cannot_be_used(fitted):
    for images, error, message in (
        (ROWS, ValueError, r"Scattering\(shape=\(28, 28\)\)"),
        (IMAGES[:, :6], DataError, "6 x 8 pixels: scattering needs at least 8 pixels"),
        (np.where(IMAGES > 15, np.nan, IMAGES), ValueError, "NaN"),
        (0.0 * IMAGES, DataError, "all images are black"),
        (np.repeat(IMAGES[:1], 5, axis=0), DataError, "all images are the same"),
        (IMAGES[:, None, None], DataError, "has 5 axes"),
    ):
        with pytest.raises(error, match=message):
            quick().fit(images)
    for arguments, message in (
        ({"J": 4}, "J can be at most 3"),
        ({"J": 0}, "J must be a whole number, at least 1"),
        ({"stride": 0.5}, "stride must be a whole number, at least 1 or None"),
        ({"nonlinearity": "square"}, "nonlinearity must be"),
        ({"whitening": 2.0}, "from 0 to 1"),
        ({"device": "abacus"}, "device must be one of"),
        ({"dtype": "float16"}, "dtype must be"),
        ({"shape": 8}, "shape must be"),
        ({"shape": (8, 9)}, "8 x 8 pixels, not 8 x 9 pixels"),
    ):
        with pytest.raises(ValueError, match=message):
            quick(**arguments).fit(IMAGES)
    with pytest.raises(DataError, match="not images of 8 x 9 pixels"):
        quick(shape=(8, 9)).fit(ROWS)
    with pytest.raises(DataError, match="8 x 10 pixels, not 8 x 8 pixels"):
        fitted.transform(np.zeros((1, 8, 10)))
    with pytest.raises(ValueError, match="63 features"):
        fitted.transform(ROWS[:, 1:])
