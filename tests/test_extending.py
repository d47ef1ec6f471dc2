"""docs/extending.md: its code runs as it stands there, and does what the page says."""

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from fewknots import GPClassifier, ModelFileError, load
from fewknots.explain import kernel_relevance, without_names
from fewknots.fitting.settings import CLASSIFICATION, FULL_BATCH
from fewknots.kernels.hyperparameters import global_parameters, per_input

from .docs.pages import run

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The names that the page defines, and the folder that it wrote to."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("extending")
    return run(PAGE, folder), folder


def test_the_kernel_is_the_formula(ran, float64):
    A, B = np.random.default_rng(1).normal(size=(2, 4, 3))
    kernel = ran[0]["Wave"](frequency=[0.5, 2.0], variance=3.0, columns=[2, 0])
    kernel = kernel.prepared(np.ones(3))
    apart = A[:, None] - B[None]
    want = 3.0 * np.cos(2 * np.pi * (0.5 * apart[..., 2] + 2.0 * apart[..., 0]))
    np.testing.assert_allclose(kernel(jnp.asarray(A), jnp.asarray(B)), want, rtol=1e-12)


def test_it_is_learned_and_read_back(ran):
    found, folder = ran
    learned = found["classifier"].kernel_.k2
    assert learned.columns == (0,)
    assert learned.frequency.shape == (1,)
    assert learned.frequency[0] != 0.8
    with pytest.raises(ModelFileError, match=r"no kernel 'Wave'.*load\(path, kernels="):
        load(folder / "wave.fewknots")


def test_it_is_explained(ran):
    classifier, X = ran[0]["classifier"], ran[0]["X"]
    relevance = kernel_relevance(without_names(classifier, X))
    assert relevance.change[0] > relevance.change[1]
    scale = classifier._standardiser.scale
    inputs = per_input(classifier.kernel_, scale)
    frequency = classifier.kernel_.k2.frequency / scale[0]
    np.testing.assert_allclose(inputs["ServedWave frequency per unit"], [frequency[0], np.nan])
    assert set(global_parameters(classifier.kernel_)) == {"RBF variance", "ServedWave variance"}


def test_it_is_exported(ran):
    runtime = pytest.importorskip("onnxruntime")
    found, folder = ran
    session = runtime.InferenceSession(folder / "wave.onnx")
    got = session.run(["probabilities"], {"X": found["X"]})[0]
    np.testing.assert_allclose(got, found["classifier"].predict_proba(found["X"]), atol=1e-8)


def test_without_a_hook_the_error_says_so(ran, tmp_path):
    with pytest.raises(TypeError, match=r"Wave cannot be exported to ONNX: .* no method `onnx_c"):
        ran[0]["again"].to_onnx(tmp_path / "wave.onnx")


def test_the_likelihood_counts(ran):
    found, folder = ran
    X, mean = found["X"], found["mean"]
    assert np.mean(np.abs(mean / (4.0 * np.exp(np.sin(X[:, 0]))) - 1.0)) < 0.2
    assert found["regressor"].method_ == "sparse_kl"
    assert float(found["loaded"].likelihood_.level) > 1.5  # from 1
    with pytest.raises(ValueError, match="must hold counts"):
        found["GPRegressor"](likelihood=found["Counts"]()).fit(X, found["calls"] - 0.5)
    with pytest.raises(ModelFileError, match="no likelihood 'Counts'"):
        load(folder / "counts.fewknots")


def test_the_likelihood_by_quadrature(ran, float64):
    """Its expectations are those of a fine grid, and the fit sees through the wrong labels."""
    found, _ = ran
    y, mean, variance = np.array([0.0, 1.0, 1.0]), np.array([0.5, -1.0, 2.0]), np.array([0.3, 4, 1])
    z = np.linspace(-9.0, 9.0, 100_001)[:, None]

    def expected(mean, variance):
        p = 0.05 + 0.9 * norm.cdf((2.0 * y - 1.0) * (mean + np.sqrt(variance) * z))
        return np.sum(np.log(p) * norm.pdf(z), axis=0) * (z[1] - z[0])

    h = 1e-4
    slope = (expected(mean + h, variance) - expected(mean - h, variance)) / (2 * h)
    curvature = -(expected(mean, variance + h) - expected(mean, variance - h)) / h
    got = found["Mislabelled"]().expectations(*map(jnp.asarray, (y, mean[None], variance[None])))
    np.testing.assert_allclose(got.log_prob, expected(mean, variance), atol=1e-6)
    np.testing.assert_allclose(got.slope[0], slope, atol=1e-5)
    np.testing.assert_allclose(got.curvature[0], curvature, atol=1e-5)
    assert np.mean((found["p"] > 0.5) == (found["X"][:, 0] > 0.0)) > 0.95
    with pytest.raises(ValueError, match="must hold 0 and 1"):
        found["robust"].fit(found["X"], found["labels"] + 1.0)
    with pytest.raises(ValueError, match=r"must be a name, one of .* is for GPRegressor"):
        GPClassifier(likelihood=found["Mislabelled"]()).fit(found["X"], found["labels"])


def test_the_method_bounds_from_below(ran):
    """At one kernel and one Z: below the paper's bound, near it, with the right derivatives."""
    found, _ = ran
    X, y, learned = found["X"], found["greater"], found["bounded"]
    assert learned.method_ == "boehning"
    assert np.mean(learned.predict(X) == y) > 0.75
    common = {"likelihood": "logit", "inducing_points": learned.inducing_points_}
    common |= {"learn_kernel": False, "learn_inducing": False, "random_state": 0}

    def fitted(kernel, method):
        return GPClassifier(kernel, method=method, **common).fit(X, y)

    kernel = learned.kernel_
    here = fitted(kernel, "boehning")
    assert here.log_evidence_ < fitted(kernel, "sparse_kl").log_evidence_
    assert here.log_evidence_ == pytest.approx(learned.log_evidence_, abs=1e-3)
    step, log_variance = 1e-4, np.log(kernel.variance)
    ends = [
        fitted(
            replace(kernel, variance=np.exp(log_variance + sign * step)), "boehning"
        ).log_evidence_
        for sign in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    assert slope == pytest.approx(float(here.evidence_gradient_.kernel.variance), abs=1e-4)
    with pytest.raises(ValueError, match="derived for likelihood='logit'"):
        GPClassifier(method="boehning").fit(X, y)


def test_the_optimizer_climbs(ran):
    found, _ = ran
    X, y, climbed = found["X"], found["y"], found["climbed"]
    usual = GPClassifier("rbf", **found["settings"]).fit(X, y)
    start = GPClassifier("rbf", learn_kernel=False, learn_inducing=False, **found["settings"])
    gained = climbed.log_evidence_ - start.fit(X, y).log_evidence_
    assert gained > 0.8 * (usual.log_evidence_ - start.log_evidence_)
    assert np.all(np.diff(climbed.history_["bound"]) >= 0.0)


@pytest.fixture(scope="module", autouse=True)
def registered_for_this_page_only():
    methods, optimizers = dict(CLASSIFICATION), dict(FULL_BATCH)
    yield
    for table, before in ((CLASSIFICATION, methods), (FULL_BATCH, optimizers)):
        table.clear()
        table.update(before)
