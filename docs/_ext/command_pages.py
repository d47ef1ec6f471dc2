"""Appends to the page `commands` what `--help` says of every command."""

import re

import typer.main
from typer.cli import get_docs_for_click

CODE = re.compile(r"(```.*?```|`[^`]*`)", re.S)
OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*)")
PAGE = re.compile(r"\bdocs/([\w-]+\.md)")


def described() -> str:
    """Markdown about all commands: those of the program, then the paper's experiments."""
    from fewknots.cli import app, reproduce

    commands = typer.main.get_command(app.app).commands
    experiments = typer.main.get_command(reproduce.app)
    parts = [_one(command, f"fewknots {name}") for name, command in commands.items()]
    parts += [
        _one(command, f"fewknots reproduce {name}")
        for name, command in experiments.commands.items()
    ]
    return "\n".join(part for part in parts if "[OPTIONS] COMMAND" not in part)


def _one(command, name: str) -> str:
    text = get_docs_for_click(obj=command, ctx=typer.Context(command, info_name=name), name=name)
    # headings one level lower; a value such as <path> is no HTML
    text = re.sub(r"^#(?=#* `)", "##", text, flags=re.M)
    text = re.sub(r"^Example: (.*)$", r"Example: `\1`", text, flags=re.M)
    # outside of code: -- would become a dash, and a page's name becomes a link
    parts = CODE.split(text)
    parts[::2] = [PAGE.sub(r"[\1](\1)", OPTION.sub(r"`\1`", part)) for part in parts[::2]]
    return "".join(parts)


def _read(app, docname, source):
    if docname == "commands":
        source[0] += "\n" + described()


def _always(app, env, added, changed, removed):
    return ["commands"]  # its text depends on the program, not on its file


def setup(app):
    app.connect("source-read", _read)
    app.connect("env-get-outdated", _always)
    return {"parallel_read_safe": True}
