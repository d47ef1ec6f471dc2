"""How a command ends: its exit code, and for an error one sentence on standard error.

| exit code | meaning                                                            |
|-----------|--------------------------------------------------------------------|
| 0         | done                                                               |
| 1         | the data, the model file or the machine did not allow it           |
| 2         | the command line was not understood                                |
| 130       | interrupted with Ctrl-C                                            |
| 143       | ended by SIGTERM, which otherwise works like Ctrl-C                |

An interrupted command has written its whole output file or none of it.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..stopping import forced_exit, interrupt, listening

FAILED, INTERRUPTED, TERMINATED = 1, 130, 143
_DEBUG = "--debug"


class _PlainFlags:
    """Mixin for commands and groups: help texts show `--resume`, not `--resume <bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Command(_PlainFlags, TyperCommand):
    """One command."""


class Group(_PlainFlags, TyperGroup):
    """A command with commands below it."""


class Commands(Group):
    """Prints our own message after Ctrl-C; typer's message differs between its versions."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with listening(), forced_exit(_on_forced_exit):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("fewknots: interrupted; no output was written.")
            raise typer.Exit(exit_code_of_interruption()) from None


def _on_forced_exit(number: int) -> int:
    """Message and exit code when the process is ended; `reproduce` may have written some cells."""
    say("fewknots: interrupted; nothing more was written.")
    return TERMINATED if number == signal.SIGTERM else INTERRUPTED


_terminated = False


def take_sigterm_for_ctrl_c() -> None:
    """Handle SIGTERM, which schedulers send, like Ctrl-C; only the exit code differs."""

    def on_sigterm(number: int, frame: Any) -> None:
        global _terminated
        _terminated = True
        interrupt(frame)

    signal.signal(signal.SIGTERM, on_sigterm)


def exit_code_of_interruption() -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    return TERMINATED if _terminated else INTERRUPTED


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command given by the arguments, and return its exit code."""
    debug = _DEBUG in arguments
    with warnings.catch_warnings():
        if not debug:
            warnings.showwarning = _note
        try:
            given = list(arguments) or ["--help"]
            return app(given, prog_name="fewknots", standalone_mode=False) or 0
        except BrokenPipeError:
            # The reader of our output (such as `head`) has closed it. Without this, Python would
            # print an error when it flushes standard output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except KeyboardInterrupt:  # outside of any command
            return exit_code_of_interruption()
        except Exception as error:
            if _is_from_ctrl_c(error):
                say("fewknots: interrupted; no output was written.")
                return exit_code_of_interruption()
            if debug:
                traceback.print_exc()
            say(f"fewknots: {_sentence(error)}")
            return int(getattr(error, "exit_code", FAILED))


def _is_from_ctrl_c(error: BaseException | None) -> bool:
    """Whether Ctrl-C came while a compiled module was imported, which then fails."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def say(text: str) -> None:
    """Print one line on standard error; line breaks and control characters are replaced."""
    line = " ".join(text.split())
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    print(shown, file=sys.stderr, flush=True)


def _sentence(error: Exception) -> str:
    """The error as one sentence for the user."""
    usage: Any = getattr(error, "format_message", None)  # only typer's usage errors have it
    if usage is not None:
        context = getattr(error, "ctx", None)
        command = "fewknots" if context is None else context.command_path
        return f"{usage()} ('{command} --help' shows the options.)"
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        # Packages of our own extras do not come here: their users raise a message that names the
        # extra.
        return f"This needs {error.name}, which is not installed: pip install {error.name}."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    text = str(error)
    if isinstance(error, ValueError | LookupError | OSError | ImportError | ArithmeticError):
        return text or type(error).__name__
    return f"Unexpected {type(error).__name__}: {text} (The option {_DEBUG} shows where.)"


def _note(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print a warning of fewknots as one line; warnings of other libraries are not printed."""
    module = category.__module__.partition(".")[0]
    if module == "fewknots" or category.__name__ == "ConvergenceWarning":
        say(f"Note: {message}")
