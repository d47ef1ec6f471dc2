"""What optional parts of fewknots need, and how to install it: every message has it from here.

Who reads such a message has fewknots. pip then adds what the extra needs and leaves fewknots as it
is, however it was installed: from an index, a wheel or a checkout.
"""


def how_to_install(extra: str) -> str:
    """The command."""
    return f"run pip install 'fewknots[{extra}]'"


def missing(what: str, extra: str) -> str:
    """What to say where a package is not installed; `what` says who needs which package."""
    return f"{what}: {how_to_install(extra)}."
