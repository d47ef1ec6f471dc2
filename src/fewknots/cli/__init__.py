"""The command `fewknots`.

`fewknots --help` must answer at once, so nothing heavy is imported before a command runs: each
command's file imports what it needs inside its function, after it has looked for the files that it
is to read (inputs.py).
"""

import sys

from ..extras import missing


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        sys.exit(_run())
    except KeyboardInterrupt:  # while it starts or ends
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
