"""Checking and mending a directory catalog: fsck."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli import exits
from lancespace_cli.parsing import parse_age
from lancespace_cli.state import State, state_of
from lancespace_cli.values import counted


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fsck)


def fsck(
    context: typer.Context,
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended. Asks first.")] = False,
    delete_orphans: Annotated[
        bool,
        typer.Option(
            "--delete-orphans", help="With --repair: delete whole tables, too, that the catalog does not name."
        ),
    ] = False,
    older_than: Annotated[
        str, typer.Option(metavar="AGE", help="Leave reservations and leftovers alone that are younger.")
    ] = "7d",
) -> None:
    """Find what is wrong in a directory catalog; nothing is changed without --repair.

    Each repair looks again before it touches anything, so an interrupted one is finished by running it again.
    Example: lancespace fsck --root ./lake
    """
    state = state_of(context)
    ns = state.namespace
    from lancespace_dir.checks import check
    from lancespace_dir.repairs import DONE, mend, mends

    age = parse_age(older_than)
    found = list(check(ns, older_than=age))
    planned = {one: mends(one, orphans=delete_orphans) for one in found}
    mendable = [one for one, plan in planned.items() if plan]
    if repair and mendable:
        state.confirm(f"Mend {len(mendable)} of {counted(len(found), 'finding')}?")
        planned |= {one: f"{planned[one]}: {outcome}" for one, outcome in mend(ns, mendable, older_than=age)}
    unplanned = "left as it is" if repair else ""
    rows = [(one.kind, one.subject, one.detail, plan or unplanned) for one, plan in planned.items()]
    if rows or state.output.as_json:
        state.output.table(("finding", "what", "detail", "repair"), rows, whole=True)
    left = [one for one, plan in planned.items() if not (repair and plan.endswith(f": {DONE}"))]
    _conclude(state, len(found), len(left), repair=repair)


def _conclude(state: State, found: int, left: int, *, repair: bool) -> None:
    if not found:
        state.output.remark("Nothing is wrong.")
    elif repair:
        state.output.remark(f"Mended {found - left} of {counted(found, 'finding')}.")
    else:
        state.output.remark(f"{counted(found, 'finding')}. With --repair, what the last column says is done.")
    if left:
        raise typer.Exit(exits.REFUSED)
