r"""Weights for a combination of fits, learned on rows that none of them has seen.

Greedy selection with replacement (Caruana, Niculescu-Mizil, Crew & Ksikes 2004): again and again,
add the fit that makes the held-out labels most probable under the average; a fit can be added more
than once. Ten additions give weights as fine as some thousand rows can determine. The first
addition is the best single fit, to which the combination is compared.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from ..combined import Latent, averaged
from ..inference.method import Capabilities

ADDITIONS = 10
# Least gain of a combination in nats per row: its predictions cost as much as all members'
# together.
WORTHWHILE = 0.002


class Combined(Capabilities):
    """What an estimator needs to know about a combination that includes the local method."""

    name = "combined"
    is_bound = False
    stores_rows = looks_up_neighbours = True
    exports_to_onnx = False

    @property
    def weights(self) -> str:
        """The weights that are allowed, in the terms of inference/method.py."""
        return "any"


def select(
    members: Sequence[Latent], log_prob: Callable[[Latent], Float[np.ndarray, " n"]]
) -> Float[np.ndarray, " K"]:
    """Weights of the fits, given their latent functions at the held-out rows.

    log_prob : the log probability of each held-out label, times the row's weight. The best fit
        gets weight 1 unless the combination is better by at least WORTHWHILE.
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
