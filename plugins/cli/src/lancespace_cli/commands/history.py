"""The versions of a table: versions, diff, restore."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli.options import Branch, DryRun, Latest, Table, all_tags, latest_versions, moment
from lancespace_cli.parsing import parse_names
from lancespace_cli.state import state_of

if TYPE_CHECKING:
    from lancespace import Namespace

At = Annotated[str, typer.Argument(metavar="FROM", help="A version number or a tag.")]

app = typer.Typer()


@app.command()
def versions(
    context: typer.Context,
    name: Table,
    *,
    limit: Latest = 20,
    branch: Branch = None,
) -> None:
    """List the versions of a table, the latest first, with their tags.

    Example: lancespace versions sales.orders -n 5
    """
    state = state_of(context)
    tags: dict[int, list[str]] = {}
    for tag, found in all_tags(state.namespace, name):
        if (found.branch or None) == branch:
            tags.setdefault(found.version, []).append(tag)
    latest = islice(latest_versions(state.namespace, name, branch), limit)
    rows = [(one.version, _when(one.timestamp_millis), ", ".join(sorted(tags.get(one.version, ())))) for one in latest]
    state.output.table(("version", "committed", "tags"), rows)


@app.command()
def diff(
    context: typer.Context,
    name: Table,
    start: At,
    end: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="A version number or a tag; the latest, if there is none.")
    ] = None,
    *,
    key: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Compare row by row: these columns say which rows are the same one."),
    ] = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=0, max=2**31 - 1, help="How many changed rows to show of each kind.")
    ] = 10,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Refuse to compare more rows than this by key: they are held in memory.")
    ] = 1_000_000,
    branch: Branch = None,
) -> None:
    """Tell what changed between two versions: columns, rows, fragments, and by key the rows themselves.

    Only fragments that differ are read. Example: lancespace diff sales.orders 3 --key id
    """
    from lancespace_cli.differences import compare, compare_rows

    state = state_of(context)
    table = state.namespace.table(name)
    before, after = (table.dataset(**_moment(state.namespace, name, at, branch)) for at in (start, end))
    found = compare(before, after)
    if key is not None:
        found |= compare_rows(before, after, parse_names(key) or [], limit=limit, max_rows=max_rows)
    if state.output.as_json:
        return state.output.json(found)
    samples = {kind: found.pop(kind) for kind in ("added", "removed", "changed") if kind in found}
    state.output.record({label: value for label, value in found.items() if value not in ([], {})})
    for kind, rows in samples.items():
        if rows:
            state.output.lines(["", f"{kind}:"])
            state.output.table(list(rows[0]), [list(row.values()) for row in rows])
    return None


@app.command()
def restore(
    context: typer.Context,
    name: Table,
    to: Annotated[str, typer.Argument(metavar="VERSION", help="A version number or a tag.")],
    *,
    branch: Branch = None,
    dry_run: DryRun = False,
) -> None:
    """Make an old version the latest, as a new version: nothing is lost. Asks first.

    Example: lancespace restore sales.orders 3
    """
    state = state_of(context)
    at = _moment(state.namespace, name, to, branch)
    state.namespace.describe_table(name, **at)
    if dry_run:
        return state.output.done(f"Would restore {name} to version {at['version']}.", name=name, **at)
    state.confirm(f"Restore {name} to version {at['version']}?")
    state.namespace.restore_table(name, **at)
    return state.output.done(f"{name} is as it was at version {at['version']}.", name=name, restored=at["version"])


def _moment(ns: Namespace, name: str, at: str | None, branch: str | None) -> dict[str, Any]:
    number = int(at) if at is not None and at.isdecimal() else None
    return moment(ns, name, number, at if number is None else None, branch)


def _when(millis: int | None) -> str | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1000, timezone.utc).isoformat(timespec="seconds")
