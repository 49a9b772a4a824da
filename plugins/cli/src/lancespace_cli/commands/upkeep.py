"""Jobs that keep tables in order: compact, clean-up, maintain."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli.aging import old_versions
from lancespace_cli.names import tables_below
from lancespace_cli.options import DryRun, Parent, Table
from lancespace_cli.parsing import parse_age
from lancespace_cli.running import NoWait, run_job
from lancespace_cli.state import state_of
from lancespace_cli.values import counted

OlderThan = Annotated[str, typer.Option(metavar="AGE", help="Keep what is younger, e.g. 12h or 7d.")]


def compact(
    context: typer.Context,
    name: Table,
    *,
    target_rows: Annotated[int, typer.Option(min=1, help="How many rows a fragment is to have.")] = 1 << 20,
    max_tasks: Annotated[int | None, typer.Option(min=1, help="The most rewrites that one run does.")] = None,
    no_wait: NoWait = False,
) -> None:
    """Rewrite small fragments as large ones.

    Example: lancespace compact sales.orders
    """
    from lancespace import jobs

    state = state_of(context)
    run_job(
        state,
        f"compact {name}",
        lambda: jobs.compact(state.namespace, name, target_rows_per_fragment=target_rows, max_tasks=max_tasks),
        no_wait=no_wait,
    )


def clean_up(
    context: typer.Context,
    name: Table,
    *,
    older_than: OlderThan = "7d",
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> None:
    """Delete old versions, except tagged ones, and files that no version needs. Asks first.

    Example: lancespace job clean-up sales.orders --older-than 30d
    """
    from lancespace import jobs

    state = state_of(context)
    age = parse_age(older_than)
    if dry_run:
        goes = old_versions(state.namespace, name, age)
        return state.output.done(f"Would delete {counted(len(goes), 'version')} of {name}.", would_delete=goes)
    state.confirm(f"Delete versions of {name} that are older than {older_than}?")
    return run_job(
        state, f"clean up {name}", lambda: jobs.clean_up(state.namespace, name, older_than=age), no_wait=no_wait
    )


def maintain(
    context: typer.Context,
    namespace: Parent = "",
    *,
    older_than: OlderThan = "7d",
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> None:
    """Compact every table, update its indexes and delete its old versions. Asks first.

    Example: lancespace job maintain sales --older-than 30d
    """
    from lancespace import identifiers, jobs

    state = state_of(context)
    age, names = parse_age(older_than), identifiers.parse(namespace)
    where = namespace or "the whole catalog"
    if dry_run:
        goes = {name: old_versions(state.namespace, name, age) for name in tables_below(state.namespace, namespace)}
        deleted = counted(sum(map(len, goes.values())), "version")
        return state.output.done(
            f"Would compact {counted(len(goes), 'table')}, and delete {deleted}.", would_delete=goes
        )
    state.confirm(f"Compact all tables in {where}, and delete their versions that are older than {older_than}?")
    return run_job(
        state, f"maintain {where}", lambda: jobs.maintain(state.namespace, names, older_than=age), no_wait=no_wait
    )
