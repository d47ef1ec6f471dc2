"""Messages about missing optional packages, and how to install them.

A user who reads such a message has fewknots installed. Then pip only adds the packages of the
extra, and leaves fewknots as it was installed: from an index, a wheel or a checkout.
"""


def how_to_install(extra: str) -> str:
    """The command."""
    return f"run pip install 'fewknots[{extra}]'"


def missing(what: str, extra: str) -> str:
    """The message for a missing package; `what` says what needs which package."""
    return f"{what}: {how_to_install(extra)}."
