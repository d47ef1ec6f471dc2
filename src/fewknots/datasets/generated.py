r"""Data sets that are defined by a distribution to draw from.

Breiman ("Bias, variance, and arcing classifiers", 1996) defined twonorm and ringnorm, Breiman et
al. ("Classification and regression trees", 1984) waveform. With z ~ N(0, I) and u ~ U(0, 1):

    twonorm    D = 20   y = 1: x = a + z      y = 0: x = -a + z       a = 2/√20 in every input
    ringnorm   D = 20   y = 1: x = 2z         y = 0: x = a + z
    waveform   D = 21   x = u h_i + (1 - u) h_j + z, with (h_i, h_j) = (h₁, h₂), (h₁, h₃), (h₂, h₃)
                        in three equally likely classes, where h₁(t) = max(6 - |t - 11|, 0),
                        h₂(t) = h₁(t - 4), h₃(t) = h₁(t + 4), t = 1 ... 21

In IDA's benchmarks y = 1 is the second class of waveform. IDA's ringnorm uses the a above;
Breiman's report has 1/√20. The Bayes errors are: twonorm 2.3 %, ringnorm 1.2 %, waveform with three
classes 14 %.
"""

from collections.abc import Callable

import numpy as np

from .dataset import Contents, Dataset, numbered
from .ida import drawn_remark, drawn_splits

Drawn = tuple[np.ndarray, np.ndarray]

_OFFSET = 2.0 / np.sqrt(20.0)
_TIMES = np.arange(1, 22)
_PEAKS = (11, 15, 7)  # of h₁, h₂, h₃
WAVES = np.array([np.maximum(6.0 - np.abs(_TIMES - peak), 0.0) for peak in _PEAKS])
WAVE_PAIRS = np.array([(0, 1), (0, 2), (1, 2)])
_GENERATED_SEED = 0


def generate(name: str, n: int, seed: int) -> Dataset:
    """Draw `n` rows of twonorm, ringnorm or waveform.

    The same seed gives the same rows. There are no splits: draw a second set to test on.

    Examples
    --------
    >>> from fewknots import datasets
    >>> datasets.generate("twonorm", 100, seed=1).X.shape
    (100, 20)
    """
    if name not in _DEFINITIONS:
        known = ", ".join(_DEFINITIONS)
        raise ValueError(f"name={name!r} has no definition to draw from: choose one of {known}.")
    if n < 1:
        raise ValueError(f"n={n}: draw at least one row.")
    X, y = _DEFINITIONS[name](n, np.random.default_rng(seed))
    source = f"drawn from its definition with numpy's default_rng({seed})"
    return Dataset(name, X, y, numbered("x", X.shape[1]), (), source)


def substitute(name: str, n_rows: int) -> Contents:
    """As many rows as IDA's set of this name has, with splits of the same sizes."""
    drawn = generate(name, n_rows, _GENERATED_SEED)
    splits = drawn_splits(name, n_rows)
    remark = f"new rows, not IDA's ({drawn.source}); {drawn_remark(name)}"
    return Contents(drawn.X, drawn.y, drawn.feature_names, splits, remark)


def three_waves(n: int, rng: np.random.Generator) -> Drawn:
    """Waveform's rows and their classes 0, 1, 2."""
    classes = rng.integers(3, size=n)
    share = rng.random((n, 1))
    first, second = WAVES[WAVE_PAIRS[classes, 0]], WAVES[WAVE_PAIRS[classes, 1]]
    return share * first + (1.0 - share) * second + rng.normal(size=(n, 21)), classes


def _waveform(n: int, rng: np.random.Generator) -> Drawn:
    X, classes = three_waves(n, rng)
    return X, (classes == 1).astype(int)


def _twonorm(n: int, rng: np.random.Generator) -> Drawn:
    y = rng.integers(2, size=n)
    return np.where(y == 1, _OFFSET, -_OFFSET)[:, None] + rng.normal(size=(n, 20)), y


def _ringnorm(n: int, rng: np.random.Generator) -> Drawn:
    y = rng.integers(2, size=n)
    z = rng.normal(size=(n, 20))
    return np.where(y[:, None] == 1, 2.0 * z, _OFFSET + z), y


_DEFINITIONS: dict[str, Callable[[int, np.random.Generator], Drawn]] = {
    "twonorm": _twonorm,
    "ringnorm": _ringnorm,
    "waveform": _waveform,
}
