"""What a client may do between two rounds: bounded by what a round costs, never by a clock."""

import pytest

from fewknots.training.client_work import client_work
from fewknots.training.row_sums import flops_of_a_row


def seconds(work, n_latent, n_inducing):
    """Of all looks between two rounds, by one core of 1e10 flops a second."""
    return work.rows * work.looks * flops_of_a_row(n_latent, n_inducing) / 1e10


@pytest.mark.parametrize("n_inducing", [30, 300])
@pytest.mark.parametrize("n_latent", [1, 7])
def test_the_client_works_no_longer_than_a_round(n_latent, n_inducing):
    for n_rows in (10**6, 10**7, 10**8, 10**9):
        work = client_work(n_rows, 20_000, n_latent, n_inducing)
        a_round = n_rows * flops_of_a_row(n_latent, n_inducing) / 1e10 / 16
        assert seconds(work, n_latent, n_inducing) <= 1.3 * max(a_round, 1.0)
        assert work.rows <= 20_000


def test_many_classes_leave_few_looks():
    """1,700 rows of seven classes, where a client once worked for a minute between two rounds."""
    work = client_work(1700, 1700, 7, 60)
    assert seconds(work, 7, 60) < 4.0
    assert work.looks >= 12
    assert client_work(1700, 1700, 1, 60).looks > 100
    assert work.first_rows * work.evaluations * flops_of_a_row(7, 60) / 1e10 < 11.0


def test_a_small_sample_is_used_as_it_is():
    work = client_work(900, 160, 1, 8)
    assert work.rows == work.first_rows == 160
