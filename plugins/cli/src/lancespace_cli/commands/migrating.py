"""From V1 to V2: migrate."""

from __future__ import annotations

import typer

from lancespace_cli.options import DryRun
from lancespace_cli.running import NoWait, run_job
from lancespace_cli.state import state_of
from lancespace_cli.values import counted


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(context: typer.Context, *, dry_run: DryRun = False, no_wait: NoWait = False) -> None:
    """Enter the V1 tables of a directory catalog in its manifest; data and names stay as they are.

    An interrupted migration is finished by running it again. Example: lancespace migrate --root ./lake --dry-run
    """
    import lancespace_dir

    state = state_of(context)
    ns = state.namespace
    if dry_run:
        waiting = lancespace_dir.unmigrated(ns)
        if not state.output.as_json:
            state.output.names(waiting)
        return state.output.done(f"Would enter {counted(len(waiting), 'table')} in the manifest.", would_enter=waiting)
    return run_job(state, "migrate", lambda: lancespace_dir.migrate(ns), no_wait=no_wait, noun="table")
