"""The collapsed bound's gradient (envelope theorem) against differences of whole solves."""

import numpy as np
import pytest
from sklearn.base import clone

from fewknots import GPClassifier
from fewknots.kernels import RBF, Constant, Linear, Matern12, Matern32, Matern52, Warp

RNG = np.random.default_rng(2)
X = RNG.normal(size=(30, 2))
y = X[:, 0] ** 2 + X[:, 1] > 0.5
Z = RNG.normal(size=(5, 2))
KERNELS = [
    RBF([0.7, 1.5], 2.0),
    Matern12([0.7, 1.5], 2.0),
    Matern32([0.7, 1.5], 2.0),
    Matern52([0.7, 1.5], 2.0),
    Linear([0.5, 2.0]) + Constant(0.3),
    RBF([0.7, 1.5], 2.0) * Linear([0.5, 2.0]) + Matern32([2.0, 1.0], 0.5),
    Warp(Matern32([0.7, 1.5], 2.0) + Linear([0.5, 0.2]), below=[0.3, 1.2], above=[0.5, 0.1]),
    Warp(RBF([0.7, 1.5], 2.0), below=[0.5], above=[1.4], columns=(1,)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_against_finite_differences(kernel):
    base = GPClassifier(
        kernel, inducing_points=Z, learn_kernel=False, learn_inducing=False, standardize=False
    )
    gradient = base.fit(X, y).evidence_gradient_
    h = 1e-4

    def evidence(**changes):
        return clone(base).set_params(**changes).fit(X, y).log_evidence_

    leaves = {
        name: value
        for name, value in kernel.get_params().items()
        if isinstance(value, float | list)
    }
    for name, value in leaves.items():
        for i in range(np.size(value)):
            nudge = np.ones(np.shape(value))
            nudge[(i,) if nudge.ndim else ()] = np.exp(h)
            up, down = (
                evidence(**{f"kernel__{name}": value * nudge}),
                evidence(**{f"kernel__{name}": value / nudge}),
            )
            got = np.ravel(gradient.kernel.get_params()[name])[i]
            assert got == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-5)
    for i, d in [(0, 0), (3, 1)]:
        step = np.zeros_like(Z)
        step[i, d] = h
        difference = evidence(inducing_points=Z + step) - evidence(inducing_points=Z - step)
        assert gradient.inducing_points[i, d] == pytest.approx(
            difference / (2 * h), rel=1e-4, abs=1e-5
        )


def test_inducing_point_gradient_is_in_the_users_units():
    shifted = X * [1.0, 50.0] + [0.0, 7.0]
    model = GPClassifier(
        RBF(), inducing_points=Z * [1.0, 50.0] + [0.0, 7.0],
        learn_kernel=False, learn_inducing=False,
    )  # fmt: skip
    gradient = model.fit(shifted, y).evidence_gradient_.inducing_points
    start = np.array(model.inducing_points)
    up, down = start.copy(), start.copy()
    up[1, 1] += 5e-3
    down[1, 1] -= 5e-3
    bounds = [
        clone(model).set_params(inducing_points=p).fit(shifted, y).log_evidence_ for p in (up, down)
    ]
    assert gradient[1, 1] == pytest.approx((bounds[0] - bounds[1]) / 1e-2, rel=1e-4)
