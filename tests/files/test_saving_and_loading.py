"""Whatever `save` accepts `load` returns, with the same predictions; else there is no file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots import GPClassifier, GPRegressor, ModelFileError, load
from fewknots.kernels import (
    RBF,
    Constant,
    Kernel,
    Linear,
    Matern32,
    Periodic,
    Polynomial,
    Product,
    Sum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
y = (X[:, 0] > 0).astype(int)


class Mine(RBF):
    """A user's own kernel."""


class _Other:
    class RBF(RBF):
        """Someone else's, of the same name."""


_ard = st.sampled_from([True, False, np.True_, 1, 0, "yes"])
_scale = st.sampled_from([None, 0.5, np.float32(2.0), 1, [1.0, 2.0], np.ones(2)])


def with_ard(kernel, ard):
    kernel.ard = ard  # not by the constructor, whose annotation is checked while testing
    return kernel


_parts = st.one_of(
    st.builds(with_ard, st.builds(RBF, lengthscale=_scale), _ard),
    st.builds(Matern32, variance=st.sampled_from([1.0, np.float64(2.0), np.array(3.0)])),
    st.builds(with_ard, st.builds(Linear), _ard),
    st.builds(Constant),
    st.builds(Mine),
    st.builds(_Other.RBF),
)
_kernels = st.recursive(
    _parts,
    lambda inner: st.one_of(st.builds(Sum, inner, inner), st.builds(Product, inner, inner)),
    max_leaves=4,
)


@given(
    kernel=_kernels,
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "class_weight": st.sampled_from([None, "balanced", {0: 1.0}, {np.int64(1): 2}]),
            "dtype": st.sampled_from([None, "float32", np.float32, np.dtype("float64")]),
            "random_state": st.sampled_from([None, 3, np.int64(3), np.random.RandomState(0)]),
            "tol": st.sampled_from([1e-5, np.float32(1e-3), 0]),
            "jitter": st.sampled_from([None, 1e-6, np.float64(1e-4)]),
        },
    ),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_saved_means_loaded(kernel, arguments, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.fewknots"
    clf = GPClassifier(kernel, learn_kernel=False, **arguments)
    parts = _simple_parts(kernel)
    faults = []  # of several, the first part's is told
    if any(not isinstance(part.ard, bool | np.bool_) for part in parts if hasattr(part, "ard")):
        faults.append(r"\.ard must be True or False")
    if any(np.ndim(part.lengthscale) and not part.ard for part in parts if isinstance(part, RBF)):
        faults.append(r"RBF\.lengthscale must have one value, got an array")
    if faults:
        with pytest.raises(ValueError, match="|".join(faults)):
            clf.fit(X, y)
        return
    clf.fit(X, y)
    if any(type(part) is _Other.RBF for part in parts):
        with pytest.raises(ValueError, match="cannot be saved: fewknots has no kernel"):
            clf.save(path)
        assert not path.exists()
        return
    clf.save(path)
    if any(type(part) is Mine for part in parts):
        with pytest.raises(ModelFileError, match=r"no kernel 'Mine'\. If it is a class of you"):
            load(path)
    again = load(path, kernels=[Mine])
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def _simple_parts(kernel):
    if isinstance(kernel, Sum | Product):
        return [*_simple_parts(kernel.k1), *_simple_parts(kernel.k2)]
    return [kernel]


@pytest.mark.parametrize("kernel", [_Other.RBF(), _Other.RBF() + Linear(), 2.0 * _Other.RBF()])
def test_a_kernel_that_is_not_ours_but_called_so(kernel, tmp_path):
    clf = GPClassifier(kernel, learn_kernel=False).fit(X, y)
    with pytest.raises(ValueError, match=r"cannot be saved: fewknots has no kernel .* of tests\."):
        clf.save(tmp_path / "m.fewknots")
    assert not any(tmp_path.iterdir())
    assert isinstance(clf.kernel_, Kernel)


def test_an_argument_that_is_not_ours_after_a_fit(tmp_path):
    clf = GPClassifier(learn_kernel=False).fit(X, y).set_params(kernel=_Other.RBF())
    with pytest.raises(ValueError, match=r"has no kernel _Other\.RBF"):
        clf.save(tmp_path / "m.fewknots")
    clf.set_params(kernel=Mine()).save(tmp_path / "m.fewknots")
    with pytest.raises(ModelFileError, match="no kernel 'Mine'"):
        load(tmp_path / "m.fewknots")
    assert isinstance(load(tmp_path / "m.fewknots", kernels=[Mine]).kernel, Mine)


def test_what_may_be_passed_as_kernels(tmp_path):
    GPClassifier(learn_kernel=False).fit(X, y).save(tmp_path / "m.fewknots")
    load(tmp_path / "m.fewknots", kernels=[RBF, Mine])
    with pytest.raises(ValueError, match=r"no kernel _Other\.RBF of .* but another one of that na"):
        load(tmp_path / "m.fewknots", kernels=[_Other.RBF])


@pytest.mark.parametrize("columns", [[1], ["b"], np.array(["b", "a"]), (0, 1)])
def test_chosen_columns_are_kept(columns, tmp_path):
    table = pd.DataFrame(X, columns=["a", "b"])
    kernel = RBF(columns=columns) + Periodic(columns=[0]) * Polynomial(degree=3)
    clf = GPClassifier(kernel, learn_kernel=False).fit(table, y)
    clf.save(tmp_path / "m.fewknots")
    again = load(tmp_path / "m.fewknots")
    np.testing.assert_array_equal(again.predict_proba(table), clf.predict_proba(table))
    assert again.kernel_.k1.columns == clf.kernel_.k1.columns
    assert list(again.kernel.k1.columns) == list(columns)
    np.testing.assert_array_equal(
        again.fit(table, y).predict_proba(table), clf.predict_proba(table)
    )


def test_a_class_that_is_not_ours(tmp_path):
    class Special(GPRegressor):
        pass

    class Impostor(GPRegressor):
        pass

    Impostor.__name__ = "GPRegressor"
    for cls, message in ((Special, "no estimator 'Special'"), (Impostor, "of another module")):
        with pytest.raises(ValueError, match=message):
            cls(learn_kernel=False).fit(X, X[:, 0]).save(tmp_path / "m.fewknots")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("log_evidence_", np.nan, "cannot be saved"),
        ("converged_", "yes", "converged is 'yes'"),
        ("n_iter_", 2.5, "n_iter is 2.5"),
        ("feature_names_in_", np.array(["a"], object), "feature names are not 2"),
        ("feature_names_in_", np.array(["a", "\ud83d\ude00"], object), "not a valid text"),
        ("classes_", np.array([b"no", b"yes"]), "cannot be saved"),
        ("device", "tpu", "its device is 'tpu'"),
    ],
)
def test_what_load_would_refuse(name, value, message, tmp_path):
    clf = GPClassifier(learn_kernel=False).fit(X, y)
    setattr(clf, name, value)
    with pytest.raises(ValueError, match=message):
        clf.save(tmp_path / "m.fewknots")
    assert not any(tmp_path.iterdir())


def test_scores_that_are_not_there_yet_are_kept(tmp_path):
    clf = GPClassifier(n_inducing=4, max_iter=200).fit(X, y)
    length = len(clf.history_["bound"])
    clf.history_["held_out_nlp"] = np.r_[np.nan, np.full(length - 1, 0.5)]
    clf.save(tmp_path / "m.fewknots")
    kept = load(tmp_path / "m.fewknots").history_["held_out_nlp"]
    np.testing.assert_array_equal(kept, clf.history_["held_out_nlp"])
