"""Compares the banana experiment with the paper's claims, in sentences.

Every sentence depends on the numbers of the run and contains them. Most are about where the
inducing points are at the end: in how many places, how far from the boundary, how near the centre.

Two points that are much closer than a lengthscale carry the same information: the correlation of f
between them is almost one. Points belong to one *place* if a chain of such close neighbours
connects them. Points have collapsed if there are far fewer places than points.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform

from ..explain import Surface
from .experiment import Result
from .outputs import markdown_table

CLOSE = 0.1  # lengthscales: an RBF kernel's correlation is then 0.995
NEAR_CENTRE = 0.25  # standard deviations of the inputs
COLLAPSED = 0.75  # points have collapsed if places / points is at most this
_NEAR_OPTIMAL = 0.01  # nats of hold-out NLP


def distinct_places(points: np.ndarray, lengthscale: np.ndarray) -> int:
    """The number of distinct places of `points`."""
    distances = squareform(pdist(points / lengthscale))
    return int(connected_components(distances < CLOSE)[0])


def distance_to_boundary(points: np.ndarray, lengthscale: np.ndarray, found: Surface) -> float:
    """The median distance of points from the p = 0.5 contour, in lengthscales."""
    boundary = boundary_points(found.across, found.up, found.probability)
    if len(boundary) == 0:
        return float("nan")
    return float(np.median(cdist(points / lengthscale, boundary / lengthscale).min(axis=1)))


def boundary_points(across: np.ndarray, up: np.ndarray, surface: np.ndarray) -> np.ndarray:
    """The midpoints between grid neighbours on different sides of p = 0.5."""
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    side = surface > 0.5
    right, above = side[:, 1:] != side[:, :-1], side[1:] != side[:-1]
    between = (grid[:, 1:] + grid[:, :-1])[right] / 2, (grid[1:] + grid[:-1])[above] / 2
    return np.concatenate(between)


def number_near_centre(points: np.ndarray, X: np.ndarray) -> int:
    """How many points lie close to the mean of the inputs X."""
    standardised = (points - X.mean(axis=0)) / X.std(axis=0)
    return int(np.sum(np.linalg.norm(standardised, axis=1) < NEAR_CENTRE))


def account(panes: list[list[Result]]) -> str:
    """`panes` as in the figure: KL, MF, Generalized FITC; the full method is last."""
    done = [[result for result in line if result.failed is None] for line in panes]
    sparse = [[r for r in line if r.cell.settings["n_inducing"]] for line in done]
    parts = [_near_optimal(done[0]), _describe_points(sparse), _collapse(sparse[2], sparse[0])]
    return "\n\n".join(part for part in parts if part)


def _near_optimal(kl: list[Result]) -> str:
    """How many points the KL method needs to be as good as the full method."""
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


def _describe_points(sparse: list[list[Result]]) -> str:
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
