"""Commands that other packages add.

An entry of the group ``lancespace.commands`` names a ``typer.Typer``, or a function that is a command; the entry's name
is the command's, and ``job.migrate`` is the command ``migrate`` of the group ``job``. It is loaded when the command is
called, so that help stays fast and one broken plugin never breaks another command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from lancespace.authoring import registry

SUMMARIES = {
    "compact": "Rewrite small fragments as large ones.",
    "fsck": "Find what is wrong in a directory catalog; nothing is changed without --repair.",
    "import": "Import files or folders, in one commit; a table that is not there is created.",
    "insert": "Append rows to a table that is there, in one commit.",
    "job": "Long work, with a progress bar, or in the background with --no-wait.",
    "job.import-spark": "Import what Spark reads, in one commit; a table that is not there is created.",
    "job.migrate": "Enter the V1 tables of a directory catalog in its manifest; data and names stay as they are.",
    "jobs": "Jobs of the catalog, whichever process runs them.",
    "migrate": "Enter the V1 tables of a directory catalog in its manifest; data and names stay as they are.",
    "new-backend": "Write a package for a new backend, with tests and CI that pass from the first minute.",
}
"""What the commands of our packages do: shown by the help, which loads none of them."""


class WithPlugins(TyperGroup):
    """The commands of a group, and those that other packages add to it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Its own in their order, then the others."""
        own = super().list_commands(ctx)
        return [*own, *sorted(_added(ctx).keys() - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command to list: of a plugin, only what is known without loading it."""
        found = super().get_command(ctx, cmd_name)
        plugin = _added(ctx).get(cmd_name)
        if found is not None or plugin is None:
            return found
        return _listed(cmd_name, SUMMARIES.get(plugin.name, f"Added by {plugin.distribution}."))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command to run."""
        name = args[0] if args else ""
        full_name = _full_name(ctx, name)
        known = super().get_command(ctx, name) is not None
        if known or full_name not in {*registry.installed(registry.COMMANDS), *registry.COMMANDS.extras}:
            return super().resolve_command(ctx, args)
        wanted_by = f"lancespace {full_name.replace('.', ' ')}"
        return name, _command(name, registry.find(registry.COMMANDS, full_name, wanted_by=wanted_by).load()), args[1:]


def _added(ctx: Any) -> Mapping[str, registry.Plugin]:
    """What other packages add to the group."""
    prefix = _full_name(ctx, "")
    installed = registry.installed(registry.COMMANDS).items()
    below = {name[len(prefix) :]: plugin for name, plugin in installed if name.startswith(prefix)}
    return {name: plugin for name, plugin in below.items() if "." not in name}


def _full_name(ctx: Any, name: str) -> str:
    """The name of an entry that adds a command to the group."""
    words = [name]
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return ".".join(words)


def _listed(name: str, about: str) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=about)(lambda: None)
    return typer.main.get_command(app)


def _command(name: str, found: Any) -> Any:
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command(name)(found)
        found = app
    found.rich_markup_mode = None  # As our own commands are shown.
    found.info.cls = WithPlugins
    return typer.main.get_command(found)
