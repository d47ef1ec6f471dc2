"""The command `fewknots`.

`fewknots --help` must answer at once, so nothing heavy is imported before a command runs: each
command imports what it needs inside its function, after it has checked that its input files exist
(inputs.py).
"""

import sys

from ..extras import missing
from ..stopping import exit_at_once


def main() -> None:
    """Run the command line; without typer, say how to install it."""
    try:
        code = _run()
        exit_at_once(code)
        sys.exit(code)
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(130)


def _run() -> int:
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit(missing("The command line needs typer", "cli"))
    from .app import app
    from .running import run, take_sigterm_for_ctrl_c

    take_sigterm_for_ctrl_c()
    return run(app, sys.argv[1:])
