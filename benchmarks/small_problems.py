"""Generated tables of 50 to 1500 rows, for benchmarks/small_tables.py.

Two lists that share no family: `CHOOSING`, by which defaults may be chosen, and `REPORTING`, which
is only looked at afterwards. A family is a function of (rng, number of rows) that returns inputs
and class numbers; training and test rows are drawn together, so both follow the same rule.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

N_TEST = 2000
Table = tuple[np.ndarray, np.ndarray]


class Problem(NamedTuple):
    """One generated table: a name, how many rows to learn from, and how it is drawn."""

    name: str
    n_rows: int
    draw: Callable[[np.random.Generator, int], Table]

    def rows(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """X, y, X_test, y_test; every class is among the rows to learn from."""
        place = sum(map(ord, self.name))
        for attempt in range(100):
            rng = np.random.default_rng([seed, place, attempt])
            X, y = self.draw(rng, self.n_rows + N_TEST)
            if set(np.unique(y)) == set(np.unique(y[: self.n_rows])):
                break
        n = self.n_rows
        return X[:n], y[:n], X[n:], y[n:]


def labelled(rng, log_odds):
    """Labels 0 and 1 with these log odds."""
    return (rng.random(len(log_odds)) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)


def flipped(rng, y, share):
    """Some of the labels 0 and 1 are wrong."""
    return np.where(rng.random(len(y)) < share, 1 - y, y)


# --- for choosing ---------------------------------------------------------------------------------


def linear(n_inputs, n_relevant, strength=2.0, shift=0.0):
    def draw(rng, n):
        X = rng.normal(size=(n, n_inputs))
        w = rng.normal(size=n_relevant)
        w *= strength / np.linalg.norm(w)
        return X, labelled(rng, X[:, :n_relevant] @ w + shift)

    return draw


def binary(n_inputs):
    def draw(rng, n):
        X = (rng.random((n, n_inputs)) < 0.4).astype(float)
        w = rng.normal(size=n_inputs) * (rng.random(n_inputs) < 0.5)
        return X, labelled(rng, 1.2 * (X - 0.4) @ w + 2.0 * (X[:, 0] * X[:, 1] - 0.16))

    return draw


def one_hot(n_variables, n_levels):
    def draw(rng, n):
        levels = rng.integers(n_levels, size=(n, n_variables))
        effects = rng.normal(size=(n_variables, n_levels)) * 0.8
        log_odds = effects[np.arange(n_variables), levels].sum(axis=1)
        X = (levels[:, :, None] == np.arange(n_levels)).reshape(n, -1).astype(float)
        return X, labelled(rng, log_odds - log_odds.mean())

    return draw


def heavy_tails(n_inputs, n_relevant):
    def draw(rng, n):
        X = rng.standard_t(2.0, size=(n, n_inputs))
        w = rng.normal(size=n_relevant)
        return X, labelled(rng, np.arcsinh(X[:, :n_relevant]) @ w)

    return draw


def checkerboard(fields, noise, n_irrelevant=0):
    def draw(rng, n):
        X = rng.random((n, 2 + n_irrelevant))
        y = np.floor(fields * X[:, :2]).sum(axis=1).astype(int) % 2
        return X, flipped(rng, y, noise)

    return draw


def sine(waves, noise, n_irrelevant=0):
    def draw(rng, n):
        X = rng.random((n, 1 + n_irrelevant))
        y = (np.sin(2 * np.pi * waves * X[:, 0]) > 0).astype(int)
        return X, flipped(rng, y, noise)

    return draw


def xor(n_irrelevant, strength=6.0):
    def draw(rng, n):
        X = rng.uniform(-1, 1, size=(n, 2 + n_irrelevant))
        return X, labelled(rng, strength * np.sign(X[:, 0] * X[:, 1]) * 0.5)

    return draw


def rings(n_irrelevant, n_classes=2):
    def draw(rng, n):
        y = rng.integers(n_classes, size=n)
        angle, radius = rng.uniform(0, 2 * np.pi, n), 1.0 + y + rng.normal(size=n) * 0.3
        X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return np.column_stack([X, rng.normal(size=(n, n_irrelevant))]), y

    return draw


def spirals(rng, n):
    y = rng.integers(2, size=n)
    t = np.sqrt(rng.random(n)) * 3 * np.pi
    turn = t + np.pi * y
    X = np.column_stack([t * np.cos(turn), t * np.sin(turn)])
    return X + 0.5 * rng.normal(size=X.shape), y


def interactions(n_inputs):
    def draw(rng, n):
        X = rng.normal(size=(n, n_inputs))
        return X, labelled(rng, 2.0 * X[:, 0] * X[:, 1] + 1.5 * X[:, 2] - X[:, 3] * X[:, 4])

    return draw


def friedman(n_inputs):
    def draw(rng, n):
        X = rng.random((n, n_inputs))
        f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        f = f + 10 * X[:, 3] + 5 * X[:, 4]
        return X, labelled(rng, 0.6 * (f - 14.4))

    return draw


def steps(n_inputs):
    def draw(rng, n):
        X = rng.normal(size=(n, n_inputs))
        log_odds = 2.0 * (X[:, 0] > 0.3) + 2.0 * (X[:, 1] > -0.5) * (X[:, 2] > 0) - 1.8
        return X, labelled(rng, 1.5 * log_odds)

    return draw


def noise_only(n_inputs, share=0.5):
    def draw(rng, n):
        return rng.normal(size=(n, n_inputs)), (rng.random(n) < share).astype(int)

    return draw


def blobs(n_classes, n_inputs, apart):
    def draw(rng, n):
        centres = apart * rng.normal(size=(n_classes, n_inputs)) / np.sqrt(n_inputs)
        y = rng.integers(n_classes, size=n)
        return centres[y] + rng.normal(size=(n, n_inputs)), y

    return draw


def four_colours(fields):
    def draw(rng, n):
        X = rng.random((n, 2))
        column, row = np.floor(fields * X).astype(int).T
        y = (column % 2) + 2 * (row % 2)
        return X, np.where(rng.random(n) < 0.1, rng.integers(4, size=n), y)

    return draw


def duplicates(rng, n):
    """Each row about four times, its label drawn anew."""
    distinct = rng.normal(size=(max(1, n // 4), 4)).round(1)
    X = distinct[rng.integers(len(distinct), size=n)]
    return X, labelled(rng, 1.5 * X[:, 0] + X[:, 1] * X[:, 2])


CHOOSING = (
    Problem("linear 50, 200 rows", 200, linear(50, 50)),
    Problem("linear 10, 100 rows", 100, linear(10, 10)),
    Problem("linear 10, 50 rows", 50, linear(10, 10)),
    Problem("linear 20, 1000 rows", 1000, linear(20, 20)),
    Problem("5 of 100 linear, 200 rows", 200, linear(100, 5)),
    Problem("10 of 300 linear, 400 rows", 400, linear(300, 10, 3.0)),
    Problem("3 of 40 strong, 200 rows", 200, linear(40, 3, 5.0)),
    Problem("binary 30, 200 rows", 200, binary(30)),
    Problem("binary 30, 600 rows", 600, binary(30)),
    Problem("one-hot 10 x 5, 300 rows", 300, one_hot(10, 5)),
    Problem("one-hot 5 x 20, 600 rows", 600, one_hot(5, 20)),
    Problem("heavy tails 5, 300 rows", 300, heavy_tails(5, 5)),
    Problem("heavy tails 3 of 20, 400 rows", 400, heavy_tails(20, 3)),
    Problem("1:20 linear, 400 rows", 400, linear(6, 6, 1.5, -3.8)),
    Problem("1:100 linear, 1000 rows", 1000, linear(6, 6, 1.0, -5.0)),
    Problem("checkerboard 8, 1500 rows", 1500, checkerboard(8, 0.0)),
    Problem("checkerboard 8 noisy, 1500 rows", 1500, checkerboard(8, 0.1)),
    Problem("checkerboard 4 noisy, 500 rows", 500, checkerboard(4, 0.1)),
    Problem("checkerboard 4 + 3, 800 rows", 800, checkerboard(4, 0.05, 3)),
    Problem("sine 12, 500 rows", 500, sine(12, 0.05)),
    Problem("sine 8 + 4, 600 rows", 600, sine(8, 0.1, 4)),
    Problem("sine 3 + 10, 300 rows", 300, sine(3, 0.1, 10)),
    Problem("xor, 200 rows", 200, xor(0)),
    Problem("xor + 8, 500 rows", 500, xor(8)),
    Problem("rings, 300 rows", 300, rings(0)),
    Problem("rings + 10, 400 rows", 400, rings(10)),
    Problem("spirals, 400 rows", 400, spirals),
    Problem("interactions 10, 500 rows", 500, interactions(10)),
    Problem("interactions 30, 300 rows", 300, interactions(30)),
    Problem("friedman 10, 400 rows", 400, friedman(10)),
    Problem("steps 8, 600 rows", 600, steps(8)),
    Problem("steps 20, 200 rows", 200, steps(20)),
    Problem("noise 5, 100 rows", 100, noise_only(5)),
    Problem("noise 30, 300 rows", 300, noise_only(30)),
    Problem("noise 10 1:10, 300 rows", 300, noise_only(10, 0.1)),
    Problem("5 blobs in 10, 300 rows", 300, blobs(5, 10, 3.0)),
    Problem("4 blobs in 40, 150 rows", 150, blobs(4, 40, 3.0)),
    Problem("3 rings + 3, 300 rows", 300, rings(3, 3)),
    Problem("4 colours, 700 rows", 700, four_colours(5)),
    Problem("duplicates, 400 rows", 400, duplicates),
)

# --- for reporting --------------------------------------------------------------------------------


def moons(noise, n_irrelevant):
    def draw(rng, n):
        y = rng.integers(2, size=n)
        t = np.pi * rng.random(n)
        X = np.column_stack([np.cos(t) + y, np.sin(t) * (1 - 2 * y) + 0.4 * y])
        X = X + noise * rng.normal(size=X.shape)
        return np.column_stack([X, rng.normal(size=(n, n_irrelevant))]), y

    return draw


def two_covariances(n_inputs):
    def draw(rng, n):
        A = rng.normal(size=(2, n_inputs, n_inputs)) / np.sqrt(n_inputs)
        y = rng.integers(2, size=n)
        X = np.einsum("nij,nj->ni", (np.eye(n_inputs) + 0.5 * A)[y], rng.normal(size=(n, n_inputs)))
        return X, y

    return draw


def quadratic(n_inputs, n_relevant):
    def draw(rng, n):
        X = rng.uniform(-2, 2, size=(n, n_inputs))
        return X, labelled(
            rng, 2.0 * (np.square(X[:, :n_relevant]).sum(axis=1) - 1.33 * n_relevant)
        )

    return draw


def correlated(n_inputs, n_factors):
    """Inputs that share a few factors; the labels depend on the factors."""

    def draw(rng, n):
        factors = rng.normal(size=(n, n_factors))
        X = factors @ rng.normal(size=(n_factors, n_inputs)) + 0.5 * rng.normal(size=(n, n_inputs))
        return X, labelled(rng, factors @ np.linspace(2.0, -2.0, n_factors))

    return draw


def stripes(n_stripes, n_irrelevant, noise):
    """Along the diagonal of two inputs."""

    def draw(rng, n):
        X = rng.uniform(-1, 1, size=(n, 2 + n_irrelevant))
        y = (np.floor(0.5 * n_stripes * (X[:, 0] + X[:, 1])) % 2).astype(int)
        return X, flipped(rng, y, noise)

    return draw


def chirp(rng, n):
    """A wave that gets faster."""
    X = rng.random((n, 1))
    return X, labelled(rng, 3.0 * np.sin(2 * np.pi * 12 * X[:, 0] ** 2))


def islands(n_islands, n_inputs):
    """Class 1 lives in a few small balls."""

    def draw(rng, n):
        centres = rng.uniform(-1, 1, size=(n_islands, n_inputs))
        y = (rng.random(n) < 0.4).astype(int)
        near = centres[rng.integers(n_islands, size=n)] + 0.1 * rng.normal(size=(n, n_inputs))
        return np.where(y[:, None] == 1, near, rng.uniform(-1.2, 1.2, size=(n, n_inputs))), y

    return draw


def counts(n_inputs):
    def draw(rng, n):
        y = (rng.random(n) < 0.35).astype(int)
        rates = np.exp(rng.normal(size=(2, n_inputs)) * 0.5 + rng.normal(size=n_inputs) - 0.5)
        return rng.poisson(rates[y] * rng.gamma(2.0, 0.5, size=(n, 1))).astype(float), y

    return draw


def majority(n_inputs, n_voters):
    """Binary inputs; the label is what most of a few say."""

    def draw(rng, n):
        X = rng.integers(2, size=(n, n_inputs)).astype(float)
        y = (X[:, :n_voters].sum(axis=1) > 0.5 * n_voters).astype(int)
        return X, flipped(rng, y, 0.05)

    return draw


def levels_and_numbers(rng, n):
    """Two variables of ten levels, one-hot, beside four numbers, one of which they change."""
    levels = rng.integers(10, size=(n, 2))
    numbers = rng.normal(size=(n, 4))
    slope = rng.normal(size=10)
    log_odds = (
        2.0 * slope[levels[:, 0]] * numbers[:, 0] + numbers[:, 1] + 0.7 * (levels[:, 1] - 4.5)
    )
    hot = (levels[:, :, None] == np.arange(10)).reshape(n, -1).astype(float)
    return np.column_stack([hot, numbers]), labelled(rng, log_odds)


def lognormal(n_inputs):
    def draw(rng, n):
        Z = rng.normal(size=(n, n_inputs))
        return np.exp(1.5 * Z), labelled(rng, 2.0 * Z[:, 0] - Z[:, 1] + Z[:, 2] * Z[:, 0])

    return draw


def rare_island(shift):
    def draw(rng, n):
        X = rng.normal(size=(n, 4))
        return X, labelled(rng, shift + 5.0 * np.exp(-np.square(X[:, :2] - 1.0).sum(axis=1)))

    return draw


def rare_linear(n_inputs, shift):
    def draw(rng, n):
        X = rng.uniform(-1, 1, size=(n, n_inputs))
        return X, labelled(rng, shift + 2.0 * X[:, :4].sum(axis=1))

    return draw


def bent(n_inputs):
    """A neural net's boundary: a few hinges."""

    def draw(rng, n):
        X = rng.normal(size=(n, n_inputs))
        hidden = np.maximum(X @ rng.normal(size=(n_inputs, 4)) / np.sqrt(n_inputs) + 0.3, 0.0)
        f = hidden @ np.array([3.0, -3.0, 3.0, -3.0])
        return X, labelled(rng, 2.0 * (f - f.mean()))

    return draw


def sectors(n_classes):
    """Slices of a cake, and two inputs that mean nothing."""

    def draw(rng, n):
        X = rng.normal(size=(n, 4))
        angle = np.arctan2(X[:, 0], X[:, 1]) / (2 * np.pi) % 1.0
        y = np.minimum((n_classes * angle).astype(int), n_classes - 1)
        return X, np.where(rng.random(n) < 0.05, rng.integers(n_classes, size=n), y)

    return draw


def ordered(n_classes, n_inputs):
    """Ordered classes: thresholds of a noisy sum."""

    def draw(rng, n):
        X = rng.normal(size=(n, n_inputs))
        score = X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.logistic(size=n)
        ends = np.linspace(-1.5, 1.5, n_classes - 1)
        return X, np.searchsorted(ends, score)

    return draw


def repeated(n_distinct):
    """Few distinct rows, each with a probability of its own."""

    def draw(rng, n):
        places = rng.normal(size=(n_distinct, 3))
        which = rng.integers(n_distinct, size=n)
        return places[which], labelled(rng, rng.normal(size=n_distinct)[which] * 1.5)

    return draw


def coin(n_inputs, n_classes):
    def draw(rng, n):
        return rng.standard_t(3.0, size=(n, n_inputs)), rng.integers(n_classes, size=n)

    return draw


def tree(n_inputs, depth):
    """A random tree's leaves, each with a probability of its own."""

    def draw(rng, n):
        X = rng.random((n, n_inputs))
        leaf = np.zeros(n, int)
        for level in range(depth):
            inputs = rng.integers(min(n_inputs, 6), size=2**level)
            cuts = rng.uniform(0.3, 0.7, size=2**level)
            leaf = 2 * leaf + (X[np.arange(n), inputs[leaf]] > cuts[leaf])
        return X, labelled(rng, rng.normal(size=2**depth)[leaf] * 2.5)

    return draw


REPORTING = (
    Problem("moons, 100 rows", 100, moons(0.25, 0)),
    Problem("moons + 15, 300 rows", 300, moons(0.25, 15)),
    Problem("two covariances 5, 400 rows", 400, two_covariances(5)),
    Problem("two covariances 20, 600 rows", 600, two_covariances(20)),
    Problem("quadratic 3, 200 rows", 200, quadratic(3, 3)),
    Problem("quadratic 2 of 25, 400 rows", 400, quadratic(25, 2)),
    Problem("factors 60, 150 rows", 150, correlated(60, 3)),
    Problem("factors 30, 600 rows", 600, correlated(30, 6)),
    Problem("stripes 10, 600 rows", 600, stripes(10, 0, 0.05)),
    Problem("stripes 4 + 4, 500 rows", 500, stripes(4, 4, 0.05)),
    Problem("chirp, 400 rows", 400, chirp),
    Problem("12 islands in 2, 600 rows", 600, islands(12, 2)),
    Problem("4 islands in 6, 300 rows", 300, islands(4, 6)),
    Problem("counts 12, 200 rows", 200, counts(12)),
    Problem("counts 40, 500 rows", 500, counts(40)),
    Problem("majority 7 of 25, 200 rows", 200, majority(25, 7)),
    Problem("majority 3 of 60, 300 rows", 300, majority(60, 3)),
    Problem("levels and numbers, 500 rows", 500, levels_and_numbers),
    Problem("lognormal 6, 300 rows", 300, lognormal(6)),
    Problem("rare island 1:20, 800 rows", 800, rare_island(-4.0)),
    Problem("rare linear 1:20, 300 rows", 300, rare_linear(8, -4.2)),
    Problem("rare linear 1:100, 1000 rows", 1000, rare_linear(8, -6.0)),
    Problem("bent 6, 400 rows", 400, bent(6)),
    Problem("bent 20, 800 rows", 800, bent(20)),
    Problem("tree 6, 500 rows", 500, tree(6, 3)),
    Problem("tree 20, 300 rows", 300, tree(20, 4)),
    Problem("5 sectors, 300 rows", 300, sectors(5)),
    Problem("4 ordered in 6, 200 rows", 200, ordered(4, 6)),
    Problem("4 ordered in 30, 300 rows", 300, ordered(4, 30)),
    Problem("repeated 60, 400 rows", 400, repeated(60)),
    Problem("coin 20, 150 rows", 150, coin(20, 2)),
    Problem("coin 8, 500 rows", 500, coin(8, 2)),
    Problem("coin of 3 in 10, 200 rows", 200, coin(10, 3)),
)
