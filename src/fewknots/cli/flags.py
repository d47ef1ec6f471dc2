"""Help texts of flags without a type: `--resume`, not `--resume <bool>`."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _PlainFlags:
    """Mixin for commands and groups of commands."""

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
