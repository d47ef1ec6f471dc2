"""GPyTorch's sparse variational GP classifier with Adam: test NLP and error against time.

    python benchmarks/gpytorch_svgp.py INPUT.npz OUTPUT.json --seconds 45 --targets 0.64 0.60

Run by an interpreter that has GPyTorch (peers.python_with("gpytorch")); on a GPU if torch sees
one. INPUT.npz holds X, y, X_test, y_test (inputs as they are to be used, labels 0 and 1), the
inducing points Z to start from and, optionally, lengthscale: one value, or with --ard one per
input. It needs no fewknots.

The model is the one of GPyTorch's own examples: a whitened full-rank q(u), a constant mean, the
probit Bernoulli likelihood, float32, all settings at their defaults; the data lie on the device.

In OUTPUT.json, `moments` has [seconds, steps, NLP, error] on the test rows and `seconds_to` the
seconds to the first of them with an NLP at most the target, null for never. Training stops once
all targets are reached. The clock counts training steps alone, the first, slower one among them;
imports, setup (reading, the copy to the device) and that first step are also given on their own.
A failure on the way leaves what was reached, with `error` saying why.
"""

import argparse
import json
import platform
import time
from pathlib import Path

_started = time.perf_counter()
import gpytorch  # noqa: E402
import linear_operator  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - _started
BLOCK = 8192  # test rows predicted at once


class Model(gpytorch.models.ApproximateGP):
    """A GP with a full-rank q(u) at learned inducing points."""

    def __init__(self, Z, kernel):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        strategy = gpytorch.variational.VariationalStrategy(
            self, Z, q, learn_inducing_locations=True
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def make_kernel(name: str, n_inputs: int, ard: bool, lengthscale):
    """The named kernel; each part with variance 1 to start from, on standardised inputs."""
    dims = n_inputs if ard else None
    if name == "rbf":
        stationary = gpytorch.kernels.RBFKernel(ard_num_dims=dims)
    else:
        stationary = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=dims)
    if lengthscale is not None:
        start = torch.as_tensor(lengthscale, dtype=torch.float32).reshape(-1)
        stationary.lengthscale = start.expand(n_inputs) if ard else start
    kernel = gpytorch.kernels.ScaleKernel(stationary)
    kernel.outputscale = 1.0
    if name == "rbf":
        return kernel
    linear = gpytorch.kernels.LinearKernel(ard_num_dims=dims)  # its variances are its scale
    linear.variance = torch.full_like(linear.variance, 1.0 / n_inputs)
    return kernel + linear


class Run:
    """A model with its data on the device, and what its training has reached so far."""

    def __init__(self, data, options):
        torch.manual_seed(options.seed)
        self.options = options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.X, self.y, self.X_test, self.y_test = (
            torch.as_tensor(data[key], dtype=torch.float32).to(self.device)
            for key in ("X", "y", "X_test", "y_test")
        )
        Z = torch.as_tensor(data["Z"], dtype=torch.float32)[: options.inducing]
        if options.inducing and len(Z) < options.inducing:
            raise ValueError(f"Z has {len(Z)} rows, fewer than --inducing {options.inducing}")
        kernel = make_kernel(options.kernel, Z.shape[1], options.ard, data.get("lengthscale"))
        self.model = Model(Z, kernel).to(self.device)
        self.likelihood = gpytorch.likelihoods.BernoulliLikelihood().to(self.device)
        self.moments = []
        self.seconds, self.steps, self.rows = 0.0, 0, 0
        self.first_step_seconds = None

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def train(self) -> None:
        """Train until the time is up or all targets are reached, evaluating now and then."""
        elbo = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=len(self.y))
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.options.lr)
        target = min(map(float, self.options.targets), default=-np.inf)
        next_look = 0.25
        started = self.now()
        while True:
            for rows in torch.randperm(len(self.y), device=self.device).split(self.options.batch):
                optimizer.zero_grad()
                loss = -elbo(self.model(self.X[rows]), self.y[rows])
                loss.backward()
                optimizer.step()
                self.steps += 1
                self.rows += len(rows)
                if self.first_step_seconds is None:
                    self.first_step_seconds = self.now() - started
                if self.seconds + time.perf_counter() - started < next_look:
                    continue
                self.seconds += self.now() - started
                self.moments.append([self.seconds, self.steps, *self.evaluate()])
                if self.seconds >= self.options.seconds or self.moments[-1][2] <= target:
                    return
                next_look = self.seconds + min(max(0.25, self.seconds / 8), 2.0)
                next_look = min(next_look, self.options.seconds)
                started = self.now()

    def predict(self):
        """Latent mean and variance and the probability of label 1, for each test row."""
        with torch.no_grad():
            for X in self.X_test.split(BLOCK):
                latent = self.model(X)
                yield latent.mean, latent.variance, self.likelihood(latent).mean

    def evaluate(self) -> tuple[float, float]:
        """Test NLP and error."""
        self.model.eval()
        blocks = zip(*self.predict(), strict=True)
        mean, variance, _ = (torch.cat(parts).double() for parts in blocks)
        margin = (2 * self.y_test - 1) * mean / torch.sqrt(1 + variance)
        self.model.train()
        # log_ndtr, not the log of the likelihood's probability: that one is clipped by torch
        nlp, error = -torch.special.log_ndtr(margin).mean(), ((mean > 0) != self.y_test).double()
        return nlp.item(), error.mean().item()

    def rows_predicted_per_second(self) -> float:
        self.model.eval()
        seconds = []
        for _ in range(4):
            started = self.now()
            list(self.predict())
            seconds.append(self.now() - started)
        return len(self.X_test) / min(seconds[1:])

    def report(self) -> dict:
        return {
            "moments": self.moments,
            "seconds_to": {
                target: next((m[0] for m in self.moments if m[2] <= float(target)), None)
                for target in self.options.targets
            },
            "train_rows_per_second": self.rows / self.seconds if self.seconds else None,
            "first_step_seconds": self.first_step_seconds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--inducing", type=int, help="use the first so many rows of Z")
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument("--kernel", choices=("rbf", "matern32+linear"), default="rbf")
    parser.add_argument("--ard", action="store_true")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--targets", nargs="*", default=[], help="test NLPs")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    started = time.perf_counter()
    with np.load(options.input) as file:
        run = Run(dict(file), options)
    setup_seconds = run.now() - started
    failure = predicted = None
    try:
        run.train()
        predicted = run.rows_predicted_per_second()
    except Exception as error:  # NotPSDError, out of memory: what was reached still counts
        failure = f"{type(error).__name__}: {error}"
    modules = (torch, gpytorch, linear_operator, np)
    report = run.report() | {
        "predict_rows_per_second": predicted,
        "import_seconds": IMPORT_SECONDS,
        "setup_seconds": setup_seconds,
        "device": torch.cuda.get_device_name() if run.device.type == "cuda" else "cpu",
        "versions": {"python": platform.python_version()}
        | {module.__name__: module.__version__ for module in modules},
    }
    if failure:
        report["error"] = failure
        print(failure, flush=True)
    options.output.write_text(json.dumps(report))
    for seconds, steps, nlp, error in run.moments:
        print(f"{seconds:7.2f} s {steps:6d} steps   NLP {nlp:.4f}   error {error:.4f}")


if __name__ == "__main__":
    main()
