"""Three classes and more, everywhere that two are taken."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewknots import GPClassifier, load
from fewknots.kernels import RBF

from ..compiling import optimised
from ..contests import small_contests

NAMES = np.array(["ant", "bee", "cat"])


def rows(n=150, seed=0):
    """Three sectors of a plane, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.3 * rng.normal(size=n)
    return X, NAMES[((angle + np.pi) // (2.0 * np.pi / 3.0)).astype(int) % 3]


def quick(**arguments):
    settings = {"kernel": "rbf", "warp": None, "n_inducing": 12, "tol": 1e-3}
    settings["random_state"] = 0
    return GPClassifier(**settings | arguments)


def at_once(**arguments):
    """Only q is fitted."""
    return quick(learn_kernel=False, learn_inducing=False, **arguments)


@pytest.fixture(scope="module")
def fitted():
    with optimised():
        return quick().fit(*rows())


def test_shapes_and_probabilities(fitted):
    X, y = rows(60, seed=1)
    p = fitted.predict_proba(X)
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(fitted.classes_, NAMES)
    np.testing.assert_array_equal(fitted.predict(X), NAMES[p.argmax(axis=1)])
    assert fitted.decision_function(X).shape == (60, 3)
    mean, variance = fitted.predict_latent(X)
    assert mean.shape == variance.shape == (60, 3)
    assert fitted.score(X, y) > 0.8
    assert fitted.likelihood == "auto"


def test_far_rows_have_finite_log_probabilities(fitted):
    log_p = fitted.predict_log_proba(np.array([[1e6, -1e6], [0.0, 0.0]]))
    assert np.all(np.isfinite(log_p))


def test_names_of_classes_do_not_matter():
    X, y = rows()
    renamed = np.array(["z", "m", "a"])[np.searchsorted(NAMES, y)]  # in the opposite order
    same = {"inducing_points": X[:12], "tol": 1e-10}
    p, q = at_once(**same).fit(X, y), at_once(**same).fit(X, renamed)
    np.testing.assert_allclose(p.predict_proba(X), q.predict_proba(X)[:, ::-1], atol=1e-8)


@pytest.mark.parametrize(
    "optimizer",
    [
        "lbfgs",
        pytest.param("natural_gradient", marks=pytest.mark.computes),
        pytest.param("adam", marks=pytest.mark.computes),
        "rounds",
    ],
)
def test_every_trainer_reaches_the_bound(fitted, optimizer):
    """The same inducing points and kernel, so that only q is to be found."""
    X, y = rows()
    given = {
        "kernel": fitted.kernel_,
        "inducing_points": fitted.inducing_points_,
        "learn_kernel": False,
        "learn_inducing": False,
        "optimizer": optimizer,
    }
    if optimizer in ("natural_gradient", "adam"):
        given |= {"batch_size": 150, "max_iter": 600, "dtype": "float64"}
    other = quick(**given).fit(X, y)
    slow = optimizer == "adam"
    assert other.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=2.0 if slow else 0.1)
    difference = np.abs(other.predict_proba(X) - fitted.predict_proba(X))
    assert difference.max() < (0.1 if slow else 0.02)


def test_gradient_of_the_bound():
    """Kernel and inducing points, against finite differences."""
    X, y = rows(40)
    clf = at_once(inducing_points=X[:5], tol=1e-10)
    found = clf.fit(X, y)
    Z, kernel = found.inducing_points_, found.kernel_

    def bound(Z, lengthscale):
        given = {"inducing_points": Z, "kernel": replace(kernel, lengthscale=lengthscale)}
        return clf.set_params(**given).fit(X, y).log_evidence_

    gradient, lengthscale = found.evidence_gradient_, np.asarray(kernel.lengthscale)
    step = 1e-4
    move = np.zeros_like(Z)
    move[2, 1] = step
    by_Z = (bound(Z + move, lengthscale) - bound(Z - move, lengthscale)) / (2.0 * step)
    assert gradient.inducing_points[2, 1] == pytest.approx(by_Z, abs=1e-4)
    factor = np.array([np.exp(step), 1.0])
    by_log = (bound(Z, lengthscale * factor) - bound(Z, lengthscale / factor)) / (2.0 * step)
    assert gradient.kernel.lengthscale[0] == pytest.approx(by_log, abs=1e-4)


def test_the_softmax_of_two_classes_is_close_to_the_logit():
    """The difference of two functions has twice the variance of one.

    q of the softmax is independent between the two, so its bound is lower, and not by much.
    """
    X, y = rows()
    y = y == "ant"
    softmax = at_once(inducing_points=X[:15], likelihood="softmax").fit(X, y)
    doubled = replace(softmax.kernel_, variance=2.0 * softmax.kernel_.variance)
    logit = at_once(kernel=doubled, inducing_points=X[:15], likelihood="logit").fit(X, y)
    assert softmax.log_evidence_ < logit.log_evidence_
    assert softmax.log_evidence_ == pytest.approx(logit.log_evidence_, abs=3.0)
    np.testing.assert_allclose(softmax.predict_proba(X), logit.predict_proba(X), atol=0.05)


def test_weights_count_rows():
    X, y = rows(60)
    twice = at_once(inducing_points=X[:6]).fit(X, y, sample_weight=np.full(60, 2.0))
    repeated = at_once(inducing_points=X[:6]).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(twice.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.computes
def test_class_weights_move_probabilities(fitted):
    X, y = rows()
    heavy = quick(class_weight={"bee": 5.0}).fit(X, y)
    assert heavy.predict_proba(X)[:, 1].mean() > fitted.predict_proba(X)[:, 1].mean()
    at_once(class_weight="balanced").fit(X, y)


def test_a_model_file_holds_it(fitted, tmp_path):
    X, _ = rows(20, seed=2)
    fitted.save(tmp_path / "m.fewknots")
    again = load(tmp_path / "m.fewknots")
    np.testing.assert_array_equal(again.classes_, NAMES)
    np.testing.assert_array_equal(again.predict_log_proba(X), fitted.predict_log_proba(X))


@pytest.mark.computes
def test_streams(tmp_path):
    X, y = rows(400)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "animal": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    clf = quick(max_iter=300).fit_stream(tmp_path / "rows.parquet", "animal")
    np.testing.assert_array_equal(clf.classes_, NAMES)
    assert clf.score(pd.DataFrame(X, columns=["a", "b"]), y) > 0.8
    clf.predict_stream(tmp_path / "rows.parquet", tmp_path / "scored.parquet", keep=["animal"])
    scored = pq.read_table(tmp_path / "scored.parquet").to_pandas()
    assert list(scored) == ["animal", "p_ant", "p_bee", "p_cat", "prediction"]
    np.testing.assert_array_equal(
        scored["prediction"], clf.predict(pd.DataFrame(X, columns=["a", "b"]))
    )


def test_rows_that_come_later():
    X, y = rows()
    clf = quick(max_iter=200, optimizer="natural_gradient")
    clf.partial_fit(X[:100], y[:100], classes=[*NAMES, "dog"])
    before = clf.predict_proba(X)
    assert before.shape == (150, 4)
    clf.partial_fit(X[100:], y[100:])
    assert clf.score(X, y) > 0.8
    assert np.abs(clf.predict_proba(X) - before).max() > 1e-3


@pytest.mark.parametrize("method", ["ep", "ivm", "two_stage", "fitc_ep"])
def test_methods_for_two_classes_say_so(method):
    with pytest.raises(ValueError, match=f"method='{method}' is for two classes"):
        quick(method=method, n_inducing="auto").fit(*rows(30))


class TestLaplace:
    """All rows, and all classes at once: inference/test_laplace_softmax.py has the mathematics."""

    KERNEL = RBF([1.0, 1.0], 5.0)

    def fixed(self, **arguments):
        return GPClassifier(self.KERNEL, method="laplace", learn_kernel=False, **arguments)

    def test_learns(self, tmp_path):
        X, y = rows()
        new, labels = rows(100, seed=1)
        clf = GPClassifier(method="laplace").fit(X, y)
        assert clf.converged_
        assert clf.score(new, labels) > 0.8
        log_p = clf.predict_log_proba(new)
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0, atol=1e-12)
        assert all(part.shape == (100, 3) for part in clf.predict_latent(new))
        clf.save(tmp_path / "m.fewknots")
        np.testing.assert_array_equal(load(tmp_path / "m.fewknots").predict_log_proba(new), log_p)
        with pytest.raises(
            ValueError, match=r"independent between classes, and that of method='laplace'"
        ):
            clf.partial_fit(X, y)

    def test_names_of_classes_do_not_matter(self):
        X, y = rows(60)
        renamed = np.array(["m", "z", "a"])[np.searchsorted(NAMES, y)]
        one, other = self.fixed().fit(X, y), self.fixed().fit(X, renamed)
        assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
        found = other.predict_proba(X)[:, [1, 2, 0]]
        np.testing.assert_allclose(one.predict_proba(X), found, atol=1e-8)

    def test_two_classes_are_the_logit_of_twice_the_variance(self):
        X, y = rows(60)
        softmax = self.fixed(likelihood="softmax").fit(X, y == "ant")
        logit = self.fixed(likelihood="logit")
        logit = logit.set_params(kernel=RBF([1.0, 1.0], 10.0)).fit(X, y == "ant")
        assert softmax.log_evidence_ == pytest.approx(logit.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(softmax.predict_proba(X), logit.predict_proba(X), atol=1e-6)

    def test_weights_count_rows(self):
        X, y = rows(40)
        weights = np.where(y == "bee", 2, 1)
        copies = self.fixed().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        for weighted in (
            self.fixed().fit(X, y, sample_weight=weights),
            self.fixed(class_weight={"bee": 2.0}).fit(X, y),
        ):
            assert weighted.log_evidence_ == pytest.approx(copies.log_evidence_, abs=1e-8)
            p, q = weighted.predict_proba(X), copies.predict_proba(X)
            np.testing.assert_allclose(p, q, atol=1e-8)


class TestLocal:
    """Neighbours, and all classes at once: local/test_coupled.py has the mathematics."""

    SETTINGS: ClassVar = {"method": "local", "n_neighbors": 12, "max_iter": 30, "random_state": 0}

    def test_learns(self, tmp_path):
        X, y = rows(300)
        new, labels = rows(100, seed=1)
        clf = GPClassifier(**self.SETTINGS).fit(X, y)
        assert clf.score(new, labels) > 0.8
        log_p = clf.predict_log_proba(new)
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0, atol=1e-6)
        assert all(part.shape == (100, 3) for part in clf.predict_latent(new))
        clf.save(tmp_path / "m.fewknots")
        again = load(tmp_path / "m.fewknots")
        np.testing.assert_array_equal(again.predict_log_proba(new), log_p)
        again.partial_fit(new, labels)
        assert len(again.posterior_.points) == 400

    def test_an_interrupted_run_goes_on_as_if_nothing_had_been(self, tmp_path):
        X, y = rows(200)
        settings = self.SETTINGS | {"tol": 0.0}
        whole = GPClassifier(**settings).fit(X, y)
        kept = settings | {"checkpoint": tmp_path}
        GPClassifier(callback=lambda now: now.iteration >= 10, **kept).fit(X, y)
        resumed = GPClassifier(resume=True, **kept).fit(X, y)
        assert resumed.n_iter_ == whole.n_iter_ == 30
        np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))

    def test_with_all_rows_as_neighbours_it_is_the_full_method(self):
        X, y = rows(40)
        fixed = {"kernel": RBF([1.0, 1.0], 5.0), "learn_kernel": False, "dtype": "float64"}
        full = GPClassifier(method="laplace", **fixed).fit(X, y)
        local = GPClassifier(**self.SETTINGS | fixed | {"n_neighbors": 40}).fit(X, y)
        new, _ = rows(30, seed=1)
        p, q = full.predict_latent(new)[0], local.predict_latent(new)[0]
        np.testing.assert_allclose(p - p[:, :1], q - q[:, :1], atol=1e-5)
        np.testing.assert_allclose(local.predict_proba(new), full.predict_proba(new), atol=1e-4)

    def test_other_rules_are_for_two_classes(self):
        with pytest.raises(ValueError, match="method='local' is for two classes"):
            GPClassifier(**self.SETTINGS, method_options={"inference": "ep"}).fit(*rows(30))


class TestMeanField:
    """The multinomial probit: inference/test_mean_field_classes.py has the mathematics."""

    KERNEL = RBF([1.0, 1.0], 5.0)

    def fixed(self, method="mean_field", **arguments):
        return GPClassifier(self.KERNEL, method=method, learn_kernel=False, **arguments)

    @pytest.mark.parametrize("method", ["mean_field", "sparse_mean_field"])
    @pytest.mark.parametrize("predictor", ["gaussian", "monte_carlo"])
    def test_learns(self, method, predictor, tmp_path):
        X, y = rows(90)
        new, labels = rows(100, seed=1)
        given = {"method_options": {"predictor": predictor}, "tol": 1e-2, "random_state": 0}
        given |= {"n_inducing": 12} if method == "sparse_mean_field" else {}
        clf = GPClassifier(method=method, max_iter=30, **given).fit(X, y)
        assert clf.likelihood == "auto"
        assert clf.evidence_is_bound_
        assert clf.score(new, labels) > 0.8
        log_p = clf.predict_log_proba(new)
        assert log_p.shape == (100, 3)
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(clf.decision_function(new), log_p)
        mean, variance = clf.predict_latent(new)
        assert mean.shape == variance.shape == (100, 3)
        assert np.all(variance > 0.0)
        clf.save(tmp_path / "m.fewknots")
        again = load(tmp_path / "m.fewknots")
        np.testing.assert_array_equal(again.predict_log_proba(new), log_p)

    def test_both_predictors_agree_roughly(self):
        X, y = rows(60)
        sampled = self.fixed(method_options={"predictor": "monte_carlo"}).fit(X, y)
        gaussian = self.fixed().fit(X, y)
        np.testing.assert_allclose(
            sampled.predict_proba(X), gaussian.predict_proba(X), atol=0.1, rtol=0.0
        )
        (mean, variance), (other, least) = sampled.predict_latent(X), gaussian.predict_latent(X)
        np.testing.assert_allclose(mean, other, atol=0.3)
        assert np.all(variance > 0.9 * least)  # that of g is counted, too

    def test_names_of_classes_do_not_matter(self):
        X, y = rows(60)
        renamed = np.array(["m", "z", "a"])[np.searchsorted(NAMES, y)]
        one, other = self.fixed().fit(X, y), self.fixed().fit(X, renamed)
        assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-7)
        found = other.predict_proba(X)[:, [1, 2, 0]]
        np.testing.assert_allclose(one.predict_proba(X), found, atol=1e-7)

    def test_two_classes_keep_their_probit(self):
        X, y = rows(60)
        clf = self.fixed(likelihood="probit").fit(X, y == "ant")
        assert clf.predict_latent(X)[0].ndim == 1

    def test_weights_count_rows(self):
        X, y = rows(30)
        weights = np.where(y == "bee", 2, 1)
        copies = self.fixed().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        for weighted in (
            self.fixed().fit(X, y, sample_weight=weights),
            self.fixed(class_weight={"bee": 2}).fit(X, y),
        ):
            assert weighted.log_evidence_ == pytest.approx(copies.log_evidence_, abs=1e-6)
            p, q = weighted.predict_proba(X), copies.predict_proba(X)
            np.testing.assert_allclose(p, q, atol=1e-6)
        with pytest.raises(ValueError, match="weights must be whole numbers"):
            self.fixed().fit(X, y, sample_weight=np.full(30, 0.5))

    def test_far_rows_have_equal_classes(self):
        X, y = rows(30)
        log_p = self.fixed().fit(X, y).predict_log_proba(np.array([[1e6, -1e6]]))
        np.testing.assert_allclose(log_p, -np.log(3.0), atol=1e-9)

    def test_what_it_cannot_do_it_says(self):
        X, y = rows(30)
        for method in ("auto", "sparse_kl", "ep", "laplace", "local"):
            with pytest.raises(ValueError, match="y holds 3 classes, and only method='mean_field'"):
                quick(method=method, likelihood="probit", n_inducing="auto").fit(X, y)
        with pytest.raises(ValueError, match="derived for likelihood='probit', got 'softmax'"):
            self.fixed(likelihood="softmax").fit(X, y)
        with pytest.raises(ValueError, match="needs likelihood='softmax'"):
            self.fixed().fit(X, y).partial_fit(X, y)


@pytest.mark.computes
def test_methods_compete():
    X, y = rows(500)
    with small_contests(fewest_rows=400):
        clf = GPClassifier("rbf", random_state=0, tol=0.02).fit(X, y)
    assert {"local", "sparse_kl"} <= set(clf.contest_)
    assert clf.contest_[clf.method_] == min(clf.contest_.values())
    assert clf.score(X, y) > 0.8


def test_what_is_for_two_classes_says_so(fitted, tmp_path):
    X, y = rows(30)
    with pytest.raises(ValueError, match="likelihood='logit' is for two classes, and y holds 3"):
        quick(likelihood="logit").fit(X, y)


def test_a_warm_start_with_other_classes_is_refused():
    X, y = rows(60)
    clf = at_once(warm_start=True).fit(X, y == "ant")
    with pytest.raises(ValueError, match=r"1 latent functions, but .* need 3"):
        clf.fit(X, y)
    assert len(clf.classes_) == 2


def test_a_class_with_one_row():
    X, y = rows(60)
    y = np.where(np.arange(60) == 7, "owl", y)
    p = at_once().fit(X, y).predict_proba(X)
    assert p.shape == (60, 4)
    assert np.all(np.isfinite(p))


def test_a_local_model_comes_back_with_all_its_couplings(tmp_path):
    """How many classes a neighbourhood couples is in the file, too."""
    X, y = rows()
    settings = {"n_neighbors": 20, "max_iter": 2, "random_state": 0}
    clf = GPClassifier("rbf", warp=None, method="local", **settings).fit(X, y)
    assert clf.posterior_.n_slots > 1
    clf.save(tmp_path / "m.fewknots")
    again = load(tmp_path / "m.fewknots")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
