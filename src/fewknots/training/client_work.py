"""How much work one process may do while a cluster waits for it: counted, never timed.

Between two rounds, training in rounds (rounds.py) evaluates a sample of the rows while the workers
wait. This should take about as long as a round. It is not measured with a clock, because then the
same rows would not always give the same model: the cost of an evaluation of the sample (a
"look") is estimated from its flops (row_sums.py), and the cost of a round by

    seconds of a round = max(1, N · (seconds a row) / workers),

with a fixed number of workers, that of a large cluster, since the model must not depend on it
either. This gives the number of sample rows per look and the number of looks between rounds: few
looks at many rows, since a small sample contains little information. (45,000 rows, M = 100: with a
sample of 2000 rows two of five rounds made the bound worse.)
"""

from typing import NamedTuple

from .row_sums import flops_of_a_row

_FLOPS_A_SECOND = 1e10  # flops per second of one core
_LEAST = 1.0  # seconds: the least time of a round on a cluster
_WORKERS = 16
_USUAL_LOOKS = 25
_FEWEST_LOOKS = 12  # least looks: with fewer a round is hardly more than a gradient step
_FIRST = 10.0  # seconds before the first round; an evaluation there costs about one look
_USUAL_EVALUATIONS, _FEWEST_EVALUATIONS = 100, 10
_FEWEST_ROWS, _ROWS_A_POINT = 1000, 20


class ClientWork(NamedTuple):
    """The amount of work allowed."""

    rows: int  # rows of the sample in one look
    looks: int  # looks between two rounds
    first_rows: int  # rows of the sample in the fit before the first round
    evaluations: int  # evaluations of the evidence in that fit


def client_work(n_rows: int, n_sampled: int, n_latent: int, n_inducing: int) -> ClientWork:
    """The work for a table of `n_rows` rows, of which the client has `n_sampled`."""
    a_row = flops_of_a_row(n_latent, n_inducing) / _FLOPS_A_SECOND
    a_round = max(_LEAST, n_rows * a_row / _WORKERS)
    fewest = max(_FEWEST_ROWS, _ROWS_A_POINT * n_inducing)
    rows = min(n_sampled, max(fewest, int(a_round / (_USUAL_LOOKS * a_row))))
    first_rows = min(n_sampled, max(fewest, int(_FIRST / (_USUAL_EVALUATIONS * a_row))))
    looks = max(_FEWEST_LOOKS, int(a_round / (rows * a_row)))
    evaluations = max(_FEWEST_EVALUATIONS, int(_FIRST / (first_rows * a_row)))
    return ClientWork(rows, looks, first_rows, evaluations)
