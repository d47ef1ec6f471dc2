"""Sentences about a fitted model."""

from typing import Any


def method_in_words(estimator: Any) -> str:
    """Name of the method and, if several methods competed, by how much it won."""
    method = estimator.method_
    contest, gain = getattr(estimator, "contest_", None), getattr(estimator, "contest_gain_", None)
    if contest is None:
        return str(method)
    others = " and ".join(name for name in contest if name != method)
    if weights := getattr(estimator, "combination_", None):
        method = " and ".join(f"{share:.0%} {name}" for name, share in weights.items())
        others = "the better of these two alone"
    if not others:
        return f"{method}; the fit ended before another method could compete"
    if gain is None:
        return f"{method} ({others} could not be fitted to these rows)"
    low, high = gain["interval"]
    unsure = ": these rows do not tell which is better" if low <= 0.0 <= high else ""
    return (
        f"{method}, which won against {others} by {gain['nlp']:.4f} nats a row on "
        f"{gain['rows']:,} validation rows (95 % interval: {low:.4f} to {high:.4f}"
        f"{unsure})"
    )


def stored_rows(estimator: Any) -> int | None:
    """How many training rows the model contains unchanged; None if unknown."""
    if estimator.stored_rows_ is None and estimator._method.stores_rows:
        return len(estimator.posterior_.points)  # a file of an older version
    return estimator.stored_rows_


def points_in_words(estimator: Any) -> str:
    """What the posterior consists of, and how many rows of the training table it contains."""
    n, stored, method = len(estimator.posterior_.points), stored_rows(estimator), estimator._method
    if method.looks_up_neighbours:
        return (
            f"{stored:,} rows of the table, as numbers, because method {method.name!r} predicts "
            "from the nearest of them: anyone who has the file can read these rows"
        )
    if method.stores_rows:
        return (
            f"{n:,} rows of the table, as numbers, because the posterior of method "
            f"{method.name!r} needs them: anyone who has the file can read these rows"
        )
    if stored is None:
        return f"{n:,} inducing points; whether some are rows of the table is not known"
    if stored:
        return f"{n:,} inducing points, {stored:,} of which are rows of the table, as numbers"
    return f"{n:,} inducing points; none of them is a row of the table"
