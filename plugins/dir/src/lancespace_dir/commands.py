"""The commands that this package adds to ``lancespace``: fsck and migrate."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli.authoring import REFUSED, DryRun, NoWait, State, counted, parse_age, run_job, state_of
from lancespace_dir import migration, repairs
from lancespace_dir.checks import check


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
    age = parse_age(older_than)
    found = list(check(ns, older_than=age))
    planned = {one: repairs.plan_repair(one, orphans=delete_orphans) for one in found}
    mendable = [one for one, plan in planned.items() if plan]
    if repair and mendable:
        state.confirm(f"Mend {len(mendable)} of {counted(len(found), 'finding')}?")
        planned |= {one: f"{planned[one]}: {outcome}" for one, outcome in repairs.repair(ns, mendable, older_than=age)}
    unplanned = "left as it is" if repair else ""
    rows = [(one.kind, one.subject, one.detail, plan or unplanned) for one, plan in planned.items()]
    if rows or state.output.as_json:
        state.output.table(("finding", "what", "detail", "repair"), rows, whole=True)
    left = [one for one, plan in planned.items() if not (repair and plan.endswith(f": {repairs.DONE}"))]
    _conclude(state, len(found), len(left), repair=repair)


def migrate(context: typer.Context, *, dry_run: DryRun = False, no_wait: NoWait = False) -> None:
    """Enter the V1 tables of a directory catalog in its manifest; data and names stay as they are.

    An interrupted migration is finished by running it again. Example: lancespace migrate --root ./lake --dry-run
    """
    state = state_of(context)
    ns = state.namespace
    if dry_run:
        waiting = migration.unmigrated(ns)
        if not state.output.as_json:
            state.output.names(waiting)
        return state.output.done(f"Would enter {counted(len(waiting), 'table')} in the manifest.", would_enter=waiting)
    return run_job(state, "migrate", lambda: migration.migrate(ns), no_wait=no_wait, noun="table")


def _conclude(state: State, found: int, left: int, *, repair: bool) -> None:
    if not found:
        state.output.remark("Nothing is wrong.")
    elif repair:
        state.output.remark(f"Mended {found - left} of {counted(found, 'finding')}.")
    else:
        state.output.remark(f"{counted(found, 'finding')}. With --repair, what the last column says is done.")
    if left:
        raise typer.Exit(REFUSED)
