"""Commands that other packages add.

An entry of the group ``lancespace.commands`` names a ``typer.Typer``; the entry's name is the command's. It is loaded
when the command is asked for, so that help stays fast and one broken plugin never breaks another command.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from lancespace import registry


class WithPlugins(TyperGroup):
    """The commands of this package, and those of others."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Ours in their order, then the others."""
        ours = super().list_commands(ctx)
        return [*ours, *sorted(registry.installed(registry.COMMANDS).keys() - set(ours))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command to list: of a plugin, only the name and who brings it."""
        found = super().get_command(ctx, cmd_name)
        plugin = registry.installed(registry.COMMANDS).get(cmd_name)
        if found is not None or plugin is None:
            return found
        return _command(_listed(cmd_name, f"Added by {plugin.distribution}."))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command to run."""
        name = args[0] if args else ""
        known = super().get_command(ctx, name) is not None
        if known or name not in {*registry.installed(registry.COMMANDS), *registry.COMMANDS.extras}:
            return super().resolve_command(ctx, args)
        loaded = _command(registry.find(registry.COMMANDS, name, wanted_by=f"lancespace {name}").load())
        return name, loaded, args[1:]


def _listed(name: str, about: str) -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.command(name, help=about)(lambda: None)
    return app


def _command(app: typer.Typer) -> Any:
    app.rich_markup_mode = None  # As our own commands are shown.
    return typer.main.get_command(app)
