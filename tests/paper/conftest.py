"""Small data in files of the form that the experiments look for."""

import numpy as np
import pytest


def write_ida_file(folder, name, n_rows=260, n_train=120, n_inputs=2, seed=0):
    """`ida_<name>.npz` with two noisy classes and ten splits."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_inputs))
    y = (np.sin(2.0 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=n_rows) > 0).astype(np.int8)
    orders = np.array([rng.permutation(n_rows) for _ in range(10)], np.int16)
    np.savez(
        folder / f"ida_{name}.npz",
        x=x,
        y=y,
        train_index=orders[:, :n_train],
        test_index=orders[:, n_train:],
        split_is_original=np.zeros(10, bool),
    )


@pytest.fixture(scope="session")
def small_data(tmp_path_factory):
    """A folder with small stand-ins for banana and image."""
    folder = tmp_path_factory.mktemp("data")
    write_ida_file(folder, "banana")
    write_ida_file(folder, "image", n_inputs=3, seed=1)
    return folder
