"""Gaussian process regression by another library: run by an interpreter that has it.

    python benchmarks/regression_peers.py svgp INPUT.npz OUTPUT.npz

INPUT.npz holds X, y and X_test, numbers in any units; OUTPUT.npz gets mean and deviation of each
y_test, noise included, and the CPU seconds of all threads of the fit. It needs no fewknots. Inputs
and targets are standardised first, all else is as the libraries' own examples have it:

svgp     GPyTorch's sparse variational GP: whitened full-rank q(u) at 200 learned inducing points,
         which set out at random rows, ARD Matérn 3/2, a constant mean; 1000 steps of Adam, rate
         0.02, 512 rows each; float32, one thread
gpboost  GPBoost's GP of all rows by Vecchia's approximation, 20 neighbours: ARD Matérn 3/2, a
         linear mean; its own optimiser
"""

import os
import sys
from collections.abc import Callable

import numpy as np

POINTS, STEPS, RATE, BATCH = 200, 1000, 0.02, 512
NEIGHBOURS = 20

Fit = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]


def svgp(X, y):
    """GPyTorch: what predicts mean and variance of y."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, Z):
            q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            strategy = gpytorch.variational.VariationalStrategy(
                self, Z, q, learn_inducing_locations=True
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            matern = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=Z.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(matern)

        def forward(self, X):
            covariance = self.covar_module(X)
            return gpytorch.distributions.MultivariateNormal(self.mean_module(X), covariance)

    torch.set_num_threads(1)
    torch.manual_seed(0)
    X, y = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)
    model = Model(X[torch.randperm(len(X))[:POINTS]].clone())
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=RATE)
    for _ in range(STEPS):
        rows = torch.randint(len(y), (BATCH,))
        adam.zero_grad()
        loss = -bound(model(X[rows]), y[rows])
        loss.backward()
        adam.step()
    model.eval()
    likelihood.eval()

    def predict(X):
        with torch.no_grad():
            found = [likelihood(model(part)) for part in torch.as_tensor(X).float().split(4096)]
        columns = zip(*((part.mean.numpy(), part.variance.numpy()) for part in found), strict=True)
        mean, variance = map(np.concatenate, columns)
        return mean, variance

    return predict


def gpboost(X, y):
    """GPBoost: what predicts mean and variance of y."""
    import gpboost

    model = gpboost.GPModel(
        gp_coords=X, cov_function="matern_ard", cov_fct_shape=1.5, gp_approx="vecchia",
        num_neighbors=NEIGHBOURS, likelihood="gaussian",
    )  # fmt: skip
    model.fit(y=y, X=with_constant(X))

    def predict(X):
        asked = {"predict_var": True, "predict_response": True}
        found = model.predict(gp_coords_pred=X, X_pred=with_constant(X), **asked)
        return found["mu"], found["var"]

    return predict


def with_constant(X):
    """The columns of a linear mean."""
    return np.column_stack([np.ones(len(X)), X])


FITS: dict[str, Fit] = {"svgp": svgp, "gpboost": gpboost}


def main() -> None:
    """Fit, predict, write."""
    name, source, target = sys.argv[1:]
    with np.load(source) as data:
        X, y, X_test = data["X"], data["y"], data["X_test"]
    centre, scale = X.mean(axis=0), X.std(axis=0)
    changes = scale > 0
    X, X_test = ((part - centre)[:, changes] / scale[changes] for part in (X, X_test))
    level, size = y.mean(), y.std()
    began = os.times()
    predict = FITS[name](X, (y - level) / size)
    now = os.times()
    seconds = now.user + now.system - began.user - began.system
    mean, variance = predict(X_test)
    np.savez(target, mean=mean * size + level, deviation=np.sqrt(variance) * size, seconds=seconds)


if __name__ == "__main__":
    main()
