"""Every trainer with a likelihood of two latent functions ends where the collapsed bound does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.ep import EP
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, Gaussian
from fewknots.optimize.lbfgsb import flatten, maximise, unflattener
from fewknots.progress import Reporter
from fewknots.training.feed import ArrayFeed
from fewknots.training.full_batch import Problem, fit_collapsed
from fewknots.training.held_rows import Point
from fewknots.training.joint import fit_jointly
from fewknots.training.parameters import Learned, Model, encode
from fewknots.training.rounds import fit_in_rounds
from fewknots.training.sampled_rounds import fit_in_sampled_rounds
from fewknots.training.schedule import Plan
from fewknots.training.steps import Naturals, base_of, prior_base
from fewknots.training.stochastic import Run, Start, fit_stochastic
from fewknots.training.summation import MemorySums, RoundsRun, point_at, weigh
from fewknots.training.surrogate import CurvatureCorrections, Iterate, Sample, Surrogate, Visited

from ..likelihoods.two_latent import Heteroscedastic, Pair

pytestmark = pytest.mark.usefixtures("float64")

WIDE = np.dtype(np.float64)
LOOKS = 1000  # between two rounds: more than there are
RNG = np.random.default_rng(2)
N, M = 120, 6
X = RNG.normal(size=(N, 2))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.3 * np.exp(X[:, 1]) * RNG.normal(size=N)
SIGNS = np.sign(X[:, 0] + 0.5 * RNG.normal(size=N))
MODEL = Model(
    RBF(np.array([0.8, 1.5]), np.asarray(1.0)), X[:M].copy(), Heteroscedastic(np.asarray(0.3))
)
HELD = Learned(False, False, False)
ALL = Learned(True, True, True)
PROBLEM = Problem(
    Rows(X, NUMBERS, np.ones(N)),
    MODEL,
    HELD,
    SparseKL(),
    maximise,
    jitter=1e-6,
    max_iter=500,
    tol=1e-7,
    rng=np.random.RandomState(0),
)
START = Start(MODEL, prior_base(M, WIDE, 2).naturals, prior_base(M, WIDE, 2))


def report():
    return Reporter(None, 0, 1)


def by_minibatches(problem, plan):
    run = Run(plan, ArrayFeed(problem.rows), START, seed=0, held_out=problem.rows)
    return fit_stochastic(run, problem, report())


def in_rounds(problem):
    run = RoundsRun(MemorySums(problem.rows, WIDE), START, 0, LOOKS)
    return fit_in_rounds(run, problem, report())


TRAINERS = {
    "joint": lambda problem: fit_jointly(problem, report()),
    "natural gradients": lambda p: by_minibatches(p, Plan("natural_gradient", N, 300)),
    "adam": lambda p: by_minibatches(p, Plan("adam", N, 4000)),
    "rounds": in_rounds,
    "sampled rounds": lambda problem: fit_in_sampled_rounds(
        RoundsRun(MemorySums(problem.rows, WIDE), START, 0, LOOKS),
        Plan("natural_gradient", N, 200),
        N,
        problem,
        report(),
    ),
}


@pytest.fixture(scope="module")
def collapsed():
    with jax.enable_x64(True):
        return fit_collapsed(PROBLEM, report())


@pytest.mark.parametrize("name", TRAINERS)
def test_q_of_all_functions_is_found(name, collapsed):
    found = TRAINERS[name](PROBLEM)
    close = 0.2 if name == "adam" else 2e-3
    assert found.evidence == pytest.approx(collapsed.evidence, abs=close)
    for mine, theirs in zip(
        found.posterior.marginals(X[:9]), collapsed.posterior.marginals(X[:9]), strict=True
    ):
        assert mine.shape == (2, 9)
        np.testing.assert_allclose(mine, theirs, atol=0.15 if name == "adam" else 2e-2)


@pytest.mark.parametrize("name", ["joint", "natural gradients", "rounds"])
def test_everything_is_learned(name):
    """Kernel, inducing points and the likelihood's own parameter, as well as by the full batch."""
    problem = replace(PROBLEM, learned=ALL, tol=1e-5)
    full = fit_collapsed(problem, report())
    if name == "natural gradients":
        found = by_minibatches(problem, Plan("natural_gradient", 40, 1500))
    else:
        found = TRAINERS[name](problem)
    assert full.evidence > fit_collapsed(PROBLEM, report()).evidence + 5.0
    assert found.evidence > full.evidence - 6.0
    assert float(found.model.likelihood.scale) != 0.3


def test_a_sum_of_two_likelihoods_is_two_fits():
    """By minibatches, whose steps know nothing of each other's functions."""
    parts = Bernoulli(), Gaussian(np.asarray(0.3))
    rows = PROBLEM.rows._replace(y=SIGNS)
    plan = Plan("natural_gradient", 50, 60)

    def fitted(likelihood):
        model = MODEL._replace(likelihood=likelihood)
        problem = replace(PROBLEM, model=model, rows=rows)
        base = prior_base(M, WIDE, likelihood.n_latent)
        run = Run(plan, ArrayFeed(rows), Start(model, base.naturals, base), seed=3)
        return fit_stochastic(run, problem, report())

    both, alone = fitted(Pair(*parts)), [fitted(part) for part in parts]
    assert both.evidence == pytest.approx(sum(one.evidence for one in alone), rel=1e-10)
    separate = np.concatenate([one.posterior.marginals(X[:9]) for one in alone], axis=1)
    np.testing.assert_allclose(both.posterior.marginals(X[:9]), separate, rtol=1e-8, atol=1e-10)


def test_the_corrected_sample_agrees_with_the_bound():
    """Value, gradient and the target of q, where the round was; its gradient everywhere."""
    free, frozen = encode(MODEL, ALL)
    base = START.base

    def random_q():
        root = np.eye(M) + 0.3 * RNG.normal(size=(2, M, M))
        return Naturals(root @ root.mT + 3.0 * np.eye(M), RNG.normal(size=(2, M)))

    here = Iterate(free, random_q())
    model, q = point_at(here.free, frozen, here.q)
    found = MemorySums(PROBLEM.rows, WIDE)(jax.tree.map(np.asarray, Point(model, q, 1e-6)))
    weighed = weigh(here.free, frozen, base, here.q, found, 1e-6)
    visited = Visited(here, found, jax.tree.map(np.asarray, weighed))
    some = MemorySums(Rows(*(column[:40] for column in PROBLEM.rows)), WIDE)
    sample = Sample(some, N / 40, base, frozen, PROBLEM, 1.0, LOOKS)
    made = Surrogate(sample, visited, CurvatureCorrections.none(len(flatten(free))), 1e-6)

    def look(free, q):
        now = made._look(free, q)
        moved = flatten(free) - made.origin
        return now.value + made.slope @ moved + made.constant, now.gradient + made.slope, now.seen

    value, gradient, seen = look(*here)
    assert value == pytest.approx(float(weighed.bound), rel=1e-10)
    np.testing.assert_allclose(gradient, flatten(weighed.gradient), atol=1e-8)
    np.testing.assert_allclose(seen.target_precision, weighed.target.precision, atol=1e-6)
    np.testing.assert_allclose(seen.target_linear, weighed.target.linear, atol=1e-6)
    there = Iterate(
        unflattener(free)(flatten(free) + 0.1 * RNG.normal(size=len(flatten(free)))), random_q()
    )
    _, gradient, _ = look(*there)
    for i in range(0, len(gradient), 3):
        step = 1e-5 * np.eye(len(gradient))[i]
        x = flatten(there.free)
        up, down = (look(unflattener(free)(x + s), there.q)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


def test_an_earlier_posterior_of_two_functions_as_the_base():
    precision = np.array([2.0, 3.0])[:, None, None] * np.eye(M)
    base = base_of(Naturals(jnp.asarray(precision), jnp.ones((2, M))))
    # m₀ᵀλ₀ - log|Λ₀| of both
    assert float(base.constant) == pytest.approx(M * (1 / 2 + 1 / 3 - np.log(2.0) - np.log(3.0)))


def test_a_method_for_one_function_refuses_at_once():
    with pytest.raises(ValueError, match="method='ep' is derived for one latent function"):
        replace(PROBLEM, method=EP())
