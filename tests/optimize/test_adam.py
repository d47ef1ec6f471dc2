"""Adam: optax's, step for step."""

import jax
import numpy as np
import optax
import pytest

from fewknots.numerics.precision import computing_in
from fewknots.optimize import adam


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_that_of_optax(dtype):
    rng = np.random.default_rng(0)
    moved = {"a": np.zeros(3, dtype), "b": np.zeros((), dtype)}
    theirs = optax.scale_by_adam()
    with computing_in(np.dtype(dtype)):
        mine, other = adam.at_rest(moved), theirs.init(moved)
        for size in (1.0, 1e-3, 1e3, 0.0, 1.0):
            gradient = {
                name: (size * rng.normal(size=start.shape)).astype(dtype)
                for name, start in moved.items()
            }
            step, mine = jax.jit(adam.direction)(gradient, mine)
            wanted, other = jax.jit(theirs.update)(gradient, other)
            for name in moved:
                assert step[name].dtype == dtype
                tolerance = 10 * np.finfo(dtype).eps
                np.testing.assert_allclose(step[name], wanted[name], rtol=tolerance)
                np.testing.assert_allclose(mine.nu[name], other.nu[name], rtol=tolerance)
    assert int(mine.count) == 5
