"""MNIST, ten digits: accuracy and NLP against time, by the softmax of ten latent functions.

    python benchmarks/digits.py --data FOLDER [--inducing 500] [--seconds 25 60] [--steps 300]
        [--peer-seconds 60] [--local rbf matern32] [--neighbors 256] [--scattering] [--logistic]

FOLDER holds mnist.npz. `--scattering`: all models see scattering coefficients (docs/images.md) in
place of pixels. `--logistic`: logistic regression, too. `--local` fits the local method with each
kernel. Seconds are those of `fit`, from its call on; CPU seconds, of all cores together, are what
it costs if other programs run, too. There `--steps` ends the schedule after so many steps, whatever
the clock says. `--peer-seconds` lets an SVGP of GPyTorch, whose softmax is sampled (Adam, 10
samples, batches of 1024), train in the same run.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from fewknots import GPClassifier
from fewknots.images import Scattering


def load(folder, scattering):
    """Pixels that are never set say nothing."""
    held = np.load(folder / "mnist.npz")
    X = np.concatenate([held["train_images"], held["test_images"]])
    y = np.concatenate([held["train_labels"], held["test_labels"]]).astype(int)
    if scattering:
        return scattered((X[:60_000], y[:60_000], X[60_000:], y[60_000:]))
    X = X.reshape(70_000, -1) / 255.0
    X = X[:, X[:60_000].max(axis=0) > 0]
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


def scattered(data):
    """The same digits as `fewknots reproduce digits` sees them."""
    X, y, X_test, y_test = data
    start, cpu = time.perf_counter(), time.process_time()
    scattering = Scattering(J=3, n_components=300, whitening=0.25).fit(X)
    features = scattering.transform(X), scattering.transform(X_test)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"scattering: {took:.1f} s ({cpu:.0f} CPU s)", flush=True)
    return features[0], y, features[1], y_test


def logistic(data):
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = data
    cpu = time.process_time()
    model = LogisticRegression(C=0.1, max_iter=200, tol=1e-3).fit(X, y)
    cpu = time.process_time() - cpu
    accuracy, nlp = scores(model.predict_log_proba(X_test), y_test)
    print(f"logistic regression: {cpu:.0f} CPU s, {accuracy:.2%}, NLP {nlp:.4f}", flush=True)


def scores(log_p, y):
    """Accuracy and mean negative log probability."""
    return np.mean(log_p.argmax(axis=1) == y), -log_p[np.arange(len(y)), y].mean()


def ours(data, n_inducing, seconds, steps=None):
    X, y, X_test, y_test = data
    start, cpu = time.perf_counter(), time.process_time()
    clf = GPClassifier(
        "rbf", warp=None, ard=False, n_inducing=n_inducing, max_time=seconds, max_iter=steps,
        tol=0.0, standardize=False, random_state=0, method="sparse_kl",
        optimizer="natural_gradient",
    ).fit(X, y)  # fmt: skip
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    accuracy, nlp = scores(clf.predict_log_proba(X_test), y_test)
    print(f"fewknots, M = {n_inducing}: {took:.1f} s ({cpu:.0f} CPU s), ", end="")
    print(f"{accuracy:.2%}, NLP {nlp:.4f}, {clf.n_iter_} steps", flush=True)
    return nlp


def among_neighbours(data, kernel, n_neighbors, seconds):
    X, y, X_test, y_test = data
    start = time.perf_counter()
    clf = GPClassifier(
        kernel, warp=None, method="local", n_neighbors=n_neighbors, ard=False, max_time=seconds,
        standardize=False, random_state=0,
    ).fit(X, y)  # fmt: skip
    took = time.perf_counter() - start
    accuracy, nlp = scores(clf.predict_log_proba(X_test), y_test)
    whole = time.perf_counter() - start
    print(f"fewknots, local, {kernel}: {took:.1f} s ({whole:.1f} s with predictions), ", end="")
    print(f"{accuracy:.2%}, NLP {nlp:.4f}, {clf.n_iter_} steps", flush=True)


def peer(data, n_inducing, seconds):
    """GPyTorch: the same kernel, inducing points from the rows, everything by Adam."""
    import gpytorch
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    X, y, X_test, y_test = (torch.as_tensor(part, device=device) for part in data)
    X, X_test = X.float(), X_test.float()
    rng = torch.Generator().manual_seed(0)
    Z = X[torch.randperm(len(X), generator=rng)[:n_inducing].to(device)]

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            batch = torch.Size([10])
            q = gpytorch.variational.CholeskyVariationalDistribution(n_inducing, batch_shape=batch)
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(
                gpytorch.variational.VariationalStrategy(self, Z, q), num_tasks=10
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=batch)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            self.covar_module.base_kernel.lengthscale = 5.0

        def forward(self, x):
            K = self.covar_module(x)
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), K)

    model = Model().to(device)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    start, looked, best = time.perf_counter(), 0.0, np.inf
    with gpytorch.settings.num_likelihood_samples(10):
        while (spent := time.perf_counter() - start) < seconds:
            rows = torch.randint(len(X), (1024,), device=device)
            adam.zero_grad()
            (-bound(model(X[rows]), y[rows])).backward()
            adam.step()
            if spent > looked + 10.0:
                looked = spent
                best = min(best, _peer_scores(model, likelihood, X_test, y_test, spent))
    spent = time.perf_counter() - start
    return min(best, _peer_scores(model, likelihood, X_test, y_test, spent))


def _peer_scores(model, likelihood, X, y, spent):
    import gpytorch
    import torch

    model.eval()
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(256):
        parts = [likelihood(model(X[i : i + 1000])).probs.mean(0) for i in range(0, len(X), 1000)]
    model.train()
    accuracy, nlp = scores(np.log(torch.cat(parts).cpu().numpy()), y.cpu().numpy())
    print(f"GPyTorch: {spent:.0f} s, {accuracy:.2%}, NLP {nlp:.4f}", flush=True)
    return nlp


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--inducing", type=int, nargs="*", default=[500])
    parser.add_argument("--seconds", type=float, nargs="+", default=[25.0, 60.0])
    parser.add_argument("--steps", type=int, nargs="*", help="in place of --seconds")
    parser.add_argument("--neighbors", type=int, default=96)
    parser.add_argument("--local", nargs="*", default=[], metavar="KERNEL", help="for instance rbf")
    parser.add_argument("--scattering", action="store_true")
    parser.add_argument("--logistic", action="store_true")
    parser.add_argument("--peer-seconds", type=float, default=0.0)
    options = parser.parse_args()
    data = load(options.data, options.scattering)
    if options.logistic:
        logistic(data)
    for n_inducing in options.inducing:
        for steps in options.steps or []:
            ours(data, n_inducing, None, steps)
        for seconds in options.seconds if options.steps is None else []:
            ours(data, n_inducing, seconds)
    for kernel in options.local:
        for seconds in options.seconds:
            among_neighbours(data, kernel, options.neighbors, seconds)
    if options.peer_seconds:
        peer(data, options.inducing[0], options.peer_seconds)


if __name__ == "__main__":
    main()
