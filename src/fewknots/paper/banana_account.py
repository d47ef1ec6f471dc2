"""What a run of the banana experiment says about the paper's claims, in words.

Every sentence is chosen by the numbers of the run, and gives them.
"""

from .experiment import Result
from .inducing_places import CLOSE, COLLAPSED, NEAR_CENTRE
from .tables import markdown_table

_NEAR_OPTIMAL = 0.01  # nats of hold-out NLP


def account(panes: list[list[Result]]) -> str:
    """`panes` as the figure has them: KL, MF, Generalized FITC; the full method last."""
    done = [[result for result in line if result.failed is None] for line in panes]
    sparse = [[r for r in line if r.cell.settings["n_inducing"]] for line in done]
    said = [_near_optimal(done[0]), _whereabouts(sparse), _collapse(sparse[2], sparse[0])]
    return "\n\n".join(part for part in said if part)


def _near_optimal(kl: list[Result]) -> str:
    """With how many points the KL method is as good as with all rows."""
    if not kl or kl[-1].cell.settings["n_inducing"]:
        return ""
    *sparse, full = kl
    aim = full.values["nlp"] + _NEAR_OPTIMAL
    enough = [r.cell.settings["n_inducing"] for r in sparse if r.values["nlp"] <= aim]
    if not enough:
        return f"No sparse KL fit comes within {_NEAR_OPTIMAL:g} of the full method's NLP."
    return (
        f"**How many points does KL need?** {enough[0]} are enough for an NLP no more than "
        f"{_NEAR_OPTIMAL:g} above the full method's ({full.values['nlp']:.4f}); the paper says 16."
    )


def _whereabouts(sparse: list[list[Result]]) -> str:
    rows = [
        (
            label,
            result.cell.settings["n_inducing"],
            result.values["places"],
            result.values["near_centre"],
            f"{result.values['boundary_distance']:.2f}",
        )
        for label, line in zip(("KL", "MF", "Generalized FITC"), sparse, strict=True)
        for result in line
    ]
    header = ("method", "M", "places", "near the centre", "median distance to the boundary")
    return (
        "**Where do the inducing points go?** A place is a set of points linked by steps shorter "
        f"than {CLOSE:g} lengthscales; near the centre is within {NEAR_CENTRE:g} standard "
        "deviations of the inputs' mean; the distance to the p = 0.5 contour is in lengthscales."
        f"\n\n{markdown_table(header, rows)}"
    )


def _collapse(fitc: list[Result], kl: list[Result]) -> str:
    if not fitc or not kl:
        return ""
    count, of_kl = (line[-1].cell.settings["n_inducing"] for line in (fitc, kl))
    values = fitc[-1].values
    verdict = "collapse" if values["places"] <= COLLAPSED * count else "do not collapse"
    centre = kl[-1].values["near_centre"]
    return (
        f"**Do Generalized FITC's inducing points collapse at M = {count}, as the paper saw?** "
        f"They {verdict}: its {count} points are left in {values['places']} places, and "
        f"{values['near_centre']} points lie near the centre; KL's {of_kl} points keep "
        f"{kl[-1].values['places']} places, with {centre} near the centre. (To collapse means here "
        f"that at most {COLLAPSED:.0%} as many places as points are left.)"
    )
