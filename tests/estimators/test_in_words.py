"""The sentence about the method, for every way in which a contest can end."""

from types import SimpleNamespace

import pytest

from fewknots.estimators.in_words import method_in_words

GAIN = {"nlp": 0.05, "interval": (0.02, 0.08), "rows": 4096}
BOTH = {"sparse_kl": 0.31, "local": 0.26}
ENDED = "local; the fit ended before another method could compete"
UNFITTED = "local (sparse_kl could not be fitted to these rows)"
WON = "local, which won against sparse_kl by 0.0500 nats a row on 4,096 validation rows "
COMBINED = "80% local and 20% sparse_kl, which won against the better of these two alone by 0.0500"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({"contest_": None}, "local"),
        ({"contest_": {"local": 0.26}}, ENDED),
        ({"contest_": BOTH}, UNFITTED),
        ({"contest_": BOTH, "contest_gain_": GAIN}, WON + "(95 % interval: 0.0200 to 0.0800)"),
        (
            {"contest_": BOTH, "contest_gain_": GAIN | {"interval": (-0.01, 0.08)}},
            WON + "(95 % interval: -0.0100 to 0.0800: these rows do not tell which is better)",
        ),
        (
            {
                "contest_": BOTH,
                "contest_gain_": GAIN,
                "combination_": {"local": 0.8, "sparse_kl": 0.2},
            },
            COMBINED,
        ),
    ],
)
def test_the_sentence(found, sentence):
    fitted = SimpleNamespace(**{"method_": "local", "contest_gain_": None} | found)
    assert method_in_words(fitted).startswith(sentence)
