"""The sub-commands, a file for each group of them.

A plugin adds commands of its own through the entry-point group ``lancespace.commands``: each entry is a
``typer.Typer`` whose module is cheap to import, and its name is the command's.
"""

from __future__ import annotations

from importlib import metadata

import typer

from lancespace_cli.commands import catalog, operations, reading

GROUP = "lancespace.commands"


def add_all(app: typer.Typer) -> None:
    """Add ours, and then what plugins offer."""
    for module in (catalog, reading, operations):
        module.add(app)
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        _add_plugin(app, entry)


def _add_plugin(app: typer.Typer, entry: metadata.EntryPoint) -> None:
    try:
        app.add_typer(entry.load(), name=entry.name)
    except Exception as error:  # noqa: BLE001 - one broken plugin never breaks the command; it says so when asked for
        app.command(entry.name, hidden=True)(_broken(entry, error))


def _broken(entry: metadata.EntryPoint, error: Exception) -> typer.models.CommandFunctionType:  # type: ignore[type-var]
    def explain() -> None:
        raise typer.BadParameter(
            f"the command {entry.name!r} of {entry.value} cannot be loaded: {type(error).__name__}: {error}"
        )

    return explain  # type: ignore[return-value]
