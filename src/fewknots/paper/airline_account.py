"""What a run on the flights says, in tables and in words."""

import numpy as np

from .experiment import Result
from .rivals import RIVALS
from .tables import markdown_table

_HEADER = ("model", "NLP", "error", "training, s", "steps", "passes", "linear model passed after")
_PAPERS_LINEAR = ("the paper's linear model, on its data", "0.642", "0.37", "", "", "", "")


def account(results: list[Result]) -> str:
    """Scores, the moment the linear model is passed, lengthscales."""
    done = {result.cell.key: result for result in results if result.failed is None}
    linear = done.get("airline-linear")
    fits = [result for result in done.values() if result.cell.settings["model"] == "gp"]
    parts = [
        "![scores against time, and lengthscales](figure.png)" if fits else "",
        markdown_table(_HEADER, [_PAPERS_LINEAR, *(_entry(r, linear) for r in results)]),
        "NLP and error are on the 100,000 flights held out. Time counts training alone, with "
        "everything compiled and the first inducing points chosen; the clock stands while the "
        "flights held out are looked at. The paper's 5.9 million flights of 2008 are not these: "
        "what can be compared is the distance to the linear model.",
    ]
    if fits:
        parts.append(_kernel(fits[-1]))
    return "\n\n".join(part for part in parts if part)


def _entry(result: Result, linear: Result | None) -> tuple[str, ...]:
    settings, values = result.cell.settings, result.values
    name = RIVALS.get(settings["model"], f"fewknots, M = {settings['n_inducing']}")
    if result.failed is not None:
        return (name, f"failed: {result.failed.splitlines()[0]}", "", "", "", "", "")
    curve = values["curve"]
    scores = (f"{curve['nlp'][-1]:.4f}", f"{curve['error'][-1]:.4f}", f"{values['seconds']:.1f}")
    if settings["model"] in RIVALS:
        return (name, *scores, "", "", "")
    progress = (str(values["iterations"]), f"{curve['passes'][-1]:.1f}")
    return (name, *scores, *progress, "" if linear is None else passed(curve, linear))


def passed(curve: dict[str, list[float]], linear: Result) -> str:
    """When a curve first is below the linear model in both scores."""
    goal = linear.values["curve"]
    below = (np.array(curve["nlp"]) < goal["nlp"][0]) & (
        np.array(curve["error"]) < goal["error"][0]
    )
    return f"{curve['seconds'][int(np.argmax(below))]:.1f} s" if below.any() else "never"


def _kernel(result: Result) -> str:
    values = result.values
    lengthscales = np.array(values["lengthscales"])
    variances = np.array(values["linear_variances"])
    order = np.argsort(lengthscales)
    table = markdown_table(
        ("input", "lengthscale", "variance of the linear part"),
        [
            (values["inputs"][i], f"{lengthscales[i]:.2f}", f"{variances[i]:.4f}")
            for i in order.tolist()
        ],
    )
    # Inputs are standardised: a row's prior variance is the Matérn's, plus the sum of the linear's.
    share = variances.sum() / (variances.sum() + float(values["matern_variance"]))
    useful = ", ".join(values["inputs"][i] for i in order[:3].tolist())
    return (
        f"{table}\n\nLengthscales are in standard deviations, with "
        f"{result.cell.settings['n_inducing']} inducing points; the shorter, the more an input "
        f"matters. The three shortest are {useful}. The Matérn's variance is "
        f"{float(values['matern_variance']):.2f}; the linear part has {share:.0%} of the prior "
        "variance of a typical flight."
    )
