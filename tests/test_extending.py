"""docs/extending.md: its code runs as it stands there, and does what the page says."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import ModelFileError, load
from fewknots.explain import kernel_relevance, without_names
from fewknots.report.hyperparameters import global_parameters, per_input

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The names that the page defines, and the folder that it wrote to."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("extending")
    found = {"__name__": "extending"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
            exec(compile(block, str(PAGE), "exec"), found)
    return found, folder


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
    with pytest.raises(TypeError, match=r"does not know the kernel Wave: .* no method `onnx_cov"):
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
