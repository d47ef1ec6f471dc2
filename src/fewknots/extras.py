"""What optional parts of fewknots need, and how to install it: every message has it from here.

The package is not on an index yet, so the extras are installed from a checkout of the repository.
Once it is published, `how_to_install` alone changes.
"""


def how_to_install(extra: str) -> str:
    """The command, and where to run it."""
    return f"run pip install '.[{extra}]' in the checkout of fewknots"


def missing(what: str, extra: str) -> str:
    """What to say where a package is not installed; `what` says who needs which package."""
    return f"{what}: {how_to_install(extra)}."
