r"""Weights for a combination of fits, learned on rows that none of them has seen.

Greedy selection with replacement (Caruana, Niculescu-Mizil, Crew & Ksikes 2004): the fit whose
addition to the average makes the held-out labels most probable is added, again and again, also one
that is in it already. Ten additions give weights as fine as some thousand rows can tell. The first
addition is the best single fit, to which the combination is compared.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from ..combined import Latent, averaged
from ..inference.method import Capabilities

ADDITIONS = 10
# Nats a row, at least, that a combination gains: it predicts as slowly as all members together.
WORTHWHILE = 0.002


class Combined(Capabilities):
    """What an estimator has to know of a fit that is a combination with the local method."""

    name = "combined"
    is_bound = False
    stores_rows = looks_up_neighbours = True
    exports_to_onnx = False

    @property
    def weights(self) -> str:
        """Which there may be, in the words of inference/method.py."""
        return "any"


def select(
    members: Sequence[Latent], log_prob: Callable[[Latent], Float[np.ndarray, " n"]]
) -> Float[np.ndarray, " K"]:
    """Weights of the fits, given their latent functions at the held-out rows.

    log_prob : the log probability of each held-out label, times the row's weight. One fit alone
        has weight 1 unless the combination gains WORTHWHILE over it.
    """

    def score(counts: Float[np.ndarray, " K"]) -> float:
        used = np.flatnonzero(counts)
        latent = averaged([members[int(k)] for k in used], (counts[used] / counts.sum()).tolist())
        return float(np.mean(log_prob(latent)))

    one_more = np.eye(len(members))
    counts, scores = np.zeros(len(members)), []
    for _ in range(ADDITIONS):
        tried = [score(counts + one) for one in one_more]
        counts = counts + one_more[int(np.argmax(tried))]
        scores.append((max(tried), counts))
    single, combined = scores[0], max(scores, key=lambda found: found[0])
    best = combined if combined[0] - single[0] > WORTHWHILE else single
    return best[1] / best[1].sum()
