"""How much one process may do while a cluster waits for it: counted, never timed.

Training in rounds (rounds.py) looks at a sample of the rows between two rounds, while the workers
wait. So that takes about as long as a round. No clock decides, or the same rows would not give the
same model: what a look costs is estimated from its flops (row_sums.py), and so is a round,

    seconds of a round = max(1, N · (seconds a row) / workers),

for as many workers as large clusters have, since the model may not depend on those either. From
this follow the rows of the sample that a look between rounds sees, and how many looks there are:
few looks at many rows, since what a small sample says is soon exhausted. (45,000 rows, M = 100: a
sample of 2000 rows proposed steps that made two rounds of five worse.)
"""

from typing import NamedTuple

from .row_sums import flops_of_a_row

_FLOPS_A_SECOND = 1e10  # of one core
_LEAST = 1.0  # seconds: a cluster hardly answers sooner, with all that its client does for it
_WORKERS = 16
_USUAL_LOOKS = 25
_FEWEST_LOOKS = 12  # with fewer a round would be hardly more than one step of a gradient
_FIRST = 10.0  # seconds before the first round, and an evaluation there is about one look
_USUAL_EVALUATIONS, _FEWEST_EVALUATIONS = 100, 10
_FEWEST_ROWS, _ROWS_A_POINT = 1000, 20


class ClientWork(NamedTuple):
    """What may be done."""

    rows: int  # of the sample, seen by a look
    looks: int  # between two rounds
    first_rows: int  # of the sample, in the fit before the first round
    evaluations: int  # of the evidence there


def client_work(n_rows: int, n_sampled: int, n_latent: int, n_inducing: int) -> ClientWork:
    """For a table of `n_rows` rows, of which the client has `n_sampled`."""
    a_row = flops_of_a_row(n_latent, n_inducing) / _FLOPS_A_SECOND
    a_round = max(_LEAST, n_rows * a_row / _WORKERS)
    fewest = max(_FEWEST_ROWS, _ROWS_A_POINT * n_inducing)
    rows = min(n_sampled, max(fewest, int(a_round / (_USUAL_LOOKS * a_row))))
    first_rows = min(n_sampled, max(fewest, int(_FIRST / (_USUAL_EVALUATIONS * a_row))))
    looks = max(_FEWEST_LOOKS, int(a_round / (rows * a_row)))
    evaluations = max(_FEWEST_EVALUATIONS, int(_FIRST / (first_rows * a_row)))
    return ClientWork(rows, looks, first_rows, evaluations)
