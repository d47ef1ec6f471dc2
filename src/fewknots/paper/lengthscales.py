"""An option of several experiments: one lengthscale for all inputs, or one for each.

The paper does not say which it used. Where it can be told from its numbers, it is one.
"""

from .experiment import Choice, Options

LENGTHSCALES = Choice(
    "lengthscales",
    ("one", "per-input"),
    "One lengthscale for all inputs, as in the paper, or one for each.",
)


def is_per_input(options: Options) -> bool:
    """What to give as `ard`."""
    return options.extras[LENGTHSCALES.name] == "per-input"
