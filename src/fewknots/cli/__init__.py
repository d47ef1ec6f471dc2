"""The command `fewknots`."""

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("The command line needs typer: pip install 'fewknots[cli]'.")
    from .app import app

    app()
