"""Training the informative vector machine: learn the kernel on some rows, then choose the rows.

The chosen rows are those hardest to predict, so their evidence favours noise: a kernel learned from
it on banana ends with log Z = M log ½ and explains nothing; other data sets, and choosing and
learning in turn, gave the same. So here the kernel is learned by EP on the same number of random
rows, whose evidence is not biased, and the rows are chosen once, for that kernel.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax.numpy as jnp
import numpy as np

from ..inference.ep import EP
from ..inference.ivm import Filtered, choose_rows
from ..inference.priors import FullPrior
from ..inference.sites import Rows, log_partition
from ..numerics.precision import compiled
from ..optimize.lbfgsb import Status
from ..progress import Report
from .full_batch import Fitted, Problem, fit_collapsed
from .parameters import Learned


def ivm_trainer(n_active: int) -> Callable[[Problem, Report], Fitted]:
    """A training that chooses `n_active` rows."""

    def train(problem: Problem, report: Report) -> Fitted:
        rows, model = problem.rows, problem.model
        count = min(n_active, len(rows.y))
        iterations, evaluations, status = 0, 0, Status.CONVERGED
        if problem.learned.kernel:
            drawn = problem.rng.choice(len(rows.y), count, replace=False)
            sample = replace(problem, rows=_taken(rows, drawn), method=EP())
            learned = fit_collapsed(sample, report)
            iterations, evaluations = learned.iterations, learned.evaluations
            status = learned.status
            model = learned.model
        chosen, offset = _filter(model.kernel, model.likelihood, rows, count)
        active = _taken(rows, np.asarray(chosen.indices))
        final = replace(
            problem,
            rows=active,
            model=model,
            learned=Learned(False, False, False),
            memory=Filtered(chosen.sites, offset),
        )
        fitted = fit_collapsed(final, report)
        return fitted._replace(
            iterations=iterations,
            evaluations=evaluations + fitted.evaluations,
            status=status,
        )

    return train


def _taken(rows: Rows, indices: np.ndarray) -> Rows:
    return Rows(*(np.asarray(column)[indices] for column in rows))


@partial(compiled, static_argnums=3)
def _filter(kernel, likelihood, rows: Rows, count: int):
    """The chosen rows, and the term to be added to the log partition of their sites to get log
    Z.
    """
    chosen = choose_rows(kernel, likelihood, rows, count)
    prior, _ = FullPrior.over(kernel, jnp.asarray(rows.X)[chosen.indices])
    partition = log_partition(prior.belief(chosen.sites), chosen.sites)
    return chosen, chosen.log_evidence - partition
