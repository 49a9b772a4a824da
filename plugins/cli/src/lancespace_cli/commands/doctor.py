"""Whether everything is there that lancespace needs: doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli import exits
from lancespace_cli.state import state_of


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    context: typer.Context,
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Also try to write: a small file is put below the root, and removed.")
    ] = False,
) -> None:
    """Tell what is installed, which plugins load, and whether the catalog can be read.

    Example: lancespace doctor --root ./lake
    """
    from lancespace_cli.diagnosis import FAILED, diagnose

    state = state_of(context)
    checks = [(one.what, one.verdict, state.hidden.clean(one.detail)) for one in diagnose(state, write=write)]
    state.output.table(("check", "verdict", "detail"), checks, whole=True)
    failed = [what for what, verdict, _ in checks if verdict == FAILED]
    if failed:
        state.output.remark(f"Failed: {', '.join(failed)}.")
        raise typer.Exit(exits.REFUSED)
