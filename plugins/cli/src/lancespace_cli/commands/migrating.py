"""From V1 to V2: migrate."""

from __future__ import annotations

import typer

from lancespace_cli.options import DryRun
from lancespace_cli.state import state_of
from lancespace_cli.values import counted


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(context: typer.Context, *, dry_run: DryRun = False) -> None:
    """Enter the V1 tables of a directory catalog in its manifest; data and names stay as they are.

    An interrupted migration is finished by running it again. Example: lancespace migrate --root ./lake --dry-run
    """
    state = state_of(context)
    ns = state.namespace
    from lancespace_dir import migrate as migrate_catalog

    if dry_run:
        waiting = list(migrate_catalog(ns, dry_run=True).registered)
        if not state.output.as_json:
            state.output.names(waiting)
        return state.output.done(f"Would enter {counted(len(waiting), 'table')} in the manifest.", would_enter=waiting)
    with state.output.progress() as progress:
        bar = progress.add_task("migrate", total=None, rows="")

        def show(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total, rows=counted(done, "table"))

        entered = list(migrate_catalog(ns, progress=show).registered)
    return state.output.done(f"Entered {counted(len(entered), 'table')} in the manifest.", entered=entered)
