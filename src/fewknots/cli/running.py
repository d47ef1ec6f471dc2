"""How a command ends: exit codes, and one sentence on standard error where something went wrong.

| exit code | meaning                                                            |
|-----------|--------------------------------------------------------------------|
| 0         | done                                                               |
| 1         | the data, the model file or the machine did not allow it           |
| 2         | the command line was not understood                                |
| 130       | interrupted with Ctrl-C                                            |
| 143       | ended by SIGTERM, which is taken for Ctrl-C otherwise              |

An interrupted command has written its output whole or not at all.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from ..stopping import cut_off, interrupt, listening
from .flags import Group

FAILED, MISUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143
_DEBUG = "--debug"


class Commands(Group):
    """Commands that Ctrl-C ends in our words; typer's own differ from version to version."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with listening(), cut_off(_last_words):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("fewknots: interrupted; no output was written.")
            raise typer.Exit(exit_code_of_interruption()) from None


def _last_words(number: int) -> int:
    """Of a command that ends amid a program; `reproduce` may have written some cells before."""
    say("fewknots: interrupted; nothing more was written.")
    return TERMINATED if number == signal.SIGTERM else INTERRUPTED


_terminated = False


def take_sigterm_for_ctrl_c() -> None:
    """A scheduler's polite end and a user's are one thing; only the exit code differs."""

    def on_sigterm(number: int, frame: Any) -> None:
        global _terminated
        _terminated = True
        interrupt(frame)

    signal.signal(signal.SIGTERM, on_sigterm)


def exit_code_of_interruption() -> int:
    """130 after Ctrl-C, 143 after SIGTERM."""
    return TERMINATED if _terminated else INTERRUPTED


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; the exit code."""
    debug = _DEBUG in arguments
    with warnings.catch_warnings():
        if not debug:
            warnings.showwarning = _note
        try:
            given = list(arguments) or ["--help"]
            return app(given, prog_name="fewknots", standalone_mode=False) or 0
        except BrokenPipeError:
            # Whoever read the output has seen enough. Python would complain about it at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except KeyboardInterrupt:  # outside of any command
            return exit_code_of_interruption()
        except Exception as error:
            if debug:
                traceback.print_exc()
            say(f"fewknots: {_sentence(error)}")
            return _exit_code(error)


def say(text: str) -> None:
    """One line on standard error, whatever the user's texts in it hold."""
    line = " ".join(text.split())
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    print(shown, file=sys.stderr, flush=True)


def _exit_code(error: Exception) -> int:
    return int(getattr(error, "exit_code", FAILED))


def _sentence(error: Exception) -> str:
    """What went wrong, in the error's own words if it has any that a user can use."""
    usage: Any = getattr(error, "format_message", None)  # typer's errors of the command line
    if usage is not None:
        context = getattr(error, "ctx", None)
        command = "fewknots" if context is None else context.command_path
        return f"{usage()} ('{command} --help' shows what there is.)"
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        # what needs an extra of ours says so itself
        return f"This needs {error.name}, which is not installed: pip install {error.name}."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    text = str(error)
    if isinstance(error, ValueError | LookupError | OSError | ImportError | ArithmeticError):
        return text or type(error).__name__
    return f"Unexpected {type(error).__name__}: {text} (The option {_DEBUG} shows where.)"


def _note(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    """Warnings that are meant for users, one line each; those of libraries are not."""
    module = category.__module__.partition(".")[0]
    if module == "fewknots" or category.__name__ == "ConvergenceWarning":
        say(f"Note: {message}")
