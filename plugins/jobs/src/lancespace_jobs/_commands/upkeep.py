"""Jobs that keep tables in order: compact, clean-up, maintain."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated

import typer

import lancespace_jobs as jobs
from lancespace_cli.authoring import (
    DryRun,
    NoWait,
    Parent,
    Table,
    all_tags,
    counted,
    latest_versions,
    parse_age,
    run_job,
    state_of,
    tables_below,
)

if TYPE_CHECKING:
    from lancespace import Namespace

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
    state = state_of(context)
    age = parse_age(older_than)
    if dry_run:
        goes = _old_versions(state.namespace, name, age)
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
    from lancespace.authoring import identifiers

    state = state_of(context)
    age, names = parse_age(older_than), identifiers.parse(namespace)
    where = namespace or "the whole catalog"
    if dry_run:
        goes = {name: _old_versions(state.namespace, name, age) for name in tables_below(state.namespace, namespace)}
        deleted = counted(sum(map(len, goes.values())), "version")
        return state.output.done(
            f"Would compact {counted(len(goes), 'table')}, and delete {deleted}.", would_delete=goes
        )
    state.confirm(f"Compact all tables in {where}, and delete their versions that are older than {older_than}?")
    return run_job(
        state, f"maintain {where}", lambda: jobs.maintain(state.namespace, names, older_than=age), no_wait=no_wait
    )


def _old_versions(ns: Namespace, name: str, age: timedelta) -> list[int]:
    """The versions that a clean-up would delete: all that are older, except the latest and tagged ones."""
    from lance_namespace import InvalidTableStateError

    oldest_kept = (datetime.now(timezone.utc) - age).timestamp() * 1000
    try:
        _, *others = latest_versions(ns, name)
    except InvalidTableStateError:
        return []  # It is declared, and has no version yet.
    tagged = {found.version for _, found in all_tags(ns, name) if not found.branch}
    return [one.version for one in others if one.timestamp_millis < oldest_kept and one.version not in tagged]
