"""Errors and warnings with names of their own."""

import numpy as np


class NumericalError(np.linalg.LinAlgError):
    """A fit cannot go on: the message says which quantity broke and what to try."""


class ModelFileError(ValueError):
    """A model file cannot be read: the message says what is wrong with it."""


class NumericalWarning(UserWarning):
    """A fit went on after a repair: the message says which."""


class InputWarning(UserWarning):
    """The input was usable but is probably not what was meant: the message says why."""
