"""The command `fewknots`.

`fewknots --help` must answer at once, so nothing heavy is imported before a command runs: each
command's file imports what it needs inside its function, after it has looked for the files that it
is to read (inputs.py).
"""

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("The command line needs typer: pip install 'fewknots[cli]'.")
    from .app import app
    from .running import run

    sys.exit(run(app, sys.argv[1:]))
