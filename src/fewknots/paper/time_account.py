"""What the time curves of a run say, in a table and in words."""

from itertools import pairwise

import numpy as np

from .experiment import Result
from .frontier import efficient_frontier
from .tables import markdown_table
from .time_figure import curves

_HEADER = (
    "method",
    "M",
    "NLP",
    "error",
    "training, s",
    "iterations",
    "largest rise of NLP",
    "choosing points, s",
    "compiling, s",
)

_WORTH_TELLING = 0.04  # of the logarithmic time: shorter stretches are not listed


def account(results: list[Result]) -> str:
    """Table, frontier, and how the paper's claims fare."""
    done = [result for result in results if result.failed is None]
    parts = [
        "![hold-out scores against time](figure.png)",
        markdown_table(_HEADER, [_line(result) for result in results]),
        "NLP and error are on the rows held out, at the end of training. Time counts training "
        "alone: the fit's clock stands while it is scored. Compiling, once for each method and "
        "shape, was done before, and choosing the first inducing points is the same for all "
        "methods; both are given apart. A fit ends when ten iterations gain nothing, or at the "
        "most iterations allowed for its M (then they are marked with +). The largest rise is how "
        "far NLP climbed back above the best it had been: a measure of how unruly the optimisation "
        "is.",
    ]
    if done:
        parts += [_frontier(done, "nlp", "NLP"), _frontier(done, "error", "error"), _more(done)]
    return "\n\n".join(parts)


def _line(result: Result) -> tuple[str, ...]:
    settings, values = result.cell.settings, result.values
    name = (settings["family"], str(settings["n_inducing"]))
    if result.failed is not None:
        return (*name, f"failed: {result.failed.splitlines()[0]}", "", "", "", "", "", "")
    curve = values["curve"]
    return (
        *name,
        f"{curve['nlp'][-1]:.4f}",
        f"{curve['error'][-1]:.4f}",
        f"{values['seconds']:.2f}",
        f"{values['iterations']}{'' if values['converged'] else '+'}",
        f"{largest_rise(np.array(curve['nlp'])):.4f}",
        f"{values['start_seconds']:.2f}",
        f"{values['compile_seconds']:.1f}",
    )


def largest_rise(scores: np.ndarray) -> float:
    """How far a curve climbs above the lowest it has been."""
    return float(np.max(scores - np.minimum.accumulate(scores)))


def _frontier(done: list[Result], score: str, name: str) -> str:
    frontier = efficient_frontier(curves(done, score))
    start, end = frontier.seconds[0], frontier.seconds[-1]
    shares = ", ".join(f"{holder} {share:.0%}" for holder, share in frontier.shares().items())
    held = "; ".join(
        f"{holder} {_seconds(stretch_start)} to {_seconds(stretch_end)} s"
        for stretch_start, stretch_end, holder in frontier.long_stretches(_WORTH_TELLING)
    )
    return (
        f"**The efficient frontier of {name}** (at any time the lowest of all curves), from "
        f"{_seconds(start)} to {_seconds(end)} s, by shares of logarithmic time: {shares}. In "
        f"order, without stretches shorter than {_WORTH_TELLING:.0%} of it: {held}."
    )


def _seconds(seconds: float) -> str:
    """Two digits, or all those of a whole number."""
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _more(done: list[Result]) -> str:
    """Does every method get better with more inducing points, as the paper saw?"""
    said = []
    for family in dict.fromkeys(result.cell.settings["family"] for result in done):
        ends = [
            (result.cell.settings["n_inducing"], result.values["curve"]["nlp"][-1])
            for result in done
            if result.cell.settings["family"] == family
        ]
        better = all(after[1] < before[1] for before, after in pairwise(ends))
        numbers = ", ".join(f"{nlp:.3f}" for _, nlp in ends)
        said.append(f"{family} {'yes' if better else 'no'} ({numbers})")
    return f"**Is NLP lower with every step up in M?** {'; '.join(said)}."
