"""Long work as jobs: ``job …`` for each function of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import lancespace_jobs as jobs
from lancespace_cli.authoring import (
    Branch,
    Column,
    DryRun,
    IndexSettings,
    IndexType,
    NoWait,
    Table,
    Transaction,
    Version,
    counted,
    parse_properties,
    parse_values,
    run_job,
    state_of,
)
from lancespace_jobs._commands.imports import import_
from lancespace_jobs._commands.upkeep import clean_up, compact, maintain

if TYPE_CHECKING:
    from lancespace import Namespace

app = typer.Typer(
    help="Long work, with a progress bar, or in the background with --no-wait.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(compact)
app.command()(clean_up)
app.command("import")(import_)
app.command()(maintain)

Where = Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only rows for which this holds.")]


@app.command()
def index(
    context: typer.Context,
    name: Table,
    column: Column,
    kind: IndexType,
    *,
    settings: IndexSettings = None,
    no_wait: NoWait = False,
) -> None:
    """Build an index of any type, in pieces that become visible together.

    Example: lancespace job index docs embedding IVF_PQ --set distance_type=cosine
    """
    state = state_of(context)
    options = parse_values(settings or [])
    submit = lambda: jobs.build_index(state.namespace, name, column, kind, **options)  # noqa: E731
    run_job(state, f"index {column} of {name}", submit, no_wait=no_wait)


@app.command()
def copy(
    context: typer.Context,
    name: Table,
    to: Annotated[str, typer.Argument(metavar="TO", help="The dotted name of the copy.")],
    *,
    to_root: Annotated[str | None, typer.Option(metavar="DIR_OR_URL", help="Copy into this directory catalog.")] = None,
    to_property: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A property of the connection to it; may be repeated."),
    ] = None,
    version: Version = None,
    no_wait: NoWait = False,
) -> None:
    """Copy a version of a table as a new table, also into another catalog.

    Example: lancespace job copy sales.orders orders --to-root s3://backup/lake
    """
    state = state_of(context)
    target = _target(state.namespace, to_root, to_property or [])
    submit = lambda: jobs.copy_table(state.namespace, name, target, to, version=version)  # noqa: E731
    run_job(state, f"copy {name} to {to}", submit, no_wait=no_wait)


@app.command()
def update(
    context: typer.Context,
    name: Table,
    changes: Annotated[list[str], typer.Option("--set", metavar="COLUMN=SQL", help="e.g. price='price * 1.1'.")],
    *,
    where: Where = None,
    no_wait: NoWait = False,
) -> None:
    """Set columns to the values of SQL expressions, in one commit.

    Example: lancespace job update sales.orders --set price="price * 1.1" --where "item = 'lamp'"
    """
    state = state_of(context)
    values = parse_properties(changes)
    submit = lambda: jobs.update_rows(state.namespace, name, values, where)  # noqa: E731
    run_job(state, f"update {name}", submit, no_wait=no_wait)


@app.command()
def delete(
    context: typer.Context,
    name: Table,
    where: Annotated[str, typer.Option("--where", metavar="SQL", help="Delete the rows for which this holds.")],
    *,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> None:
    """Delete rows, in one commit. Asks first.

    Example: lancespace job delete sales.orders --where "year < 2020"
    """
    state = state_of(context)
    count = state.namespace.count_table_rows(name, predicate=where).count or 0
    if dry_run:
        return state.output.done(f"Would delete {counted(count, 'row')} of {name}.", would_delete=count)
    state.confirm(f"Delete {counted(count, 'row')} of {name}?")
    submit = lambda: jobs.delete_rows(state.namespace, name, where)  # noqa: E731
    return run_job(state, f"delete rows of {name}", submit, no_wait=no_wait)


@app.command()
def backfill(
    context: typer.Context,
    name: Table,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A computed or virtual column.")],
    *,
    where: Where = None,
    branch: Branch = None,
    no_wait: NoWait = False,
) -> None:
    """Fill a computed or virtual column.

    Example: lancespace job backfill sales.orders gross --where "gross IS NULL"
    """
    state = state_of(context)
    ns = state.namespace
    submit = lambda: Transaction(  # noqa: E731
        ns, ns.alter_table_backfill_columns(name, column=column, where=where, branch=branch).job_id
    )
    run_job(state, f"backfill {column} of {name}", submit, no_wait=no_wait)


@app.command()
def refresh(context: typer.Context, name: Table, *, no_wait: NoWait = False) -> None:
    """Bring a materialized view up to date.

    Example: lancespace job refresh sales.per_item
    """
    state = state_of(context)
    ns = state.namespace
    submit = lambda: Transaction(ns, ns.refresh_materialized_view(name).job_id)  # noqa: E731
    run_job(state, f"refresh {name}", submit, no_wait=no_wait)


def _target(source: Namespace, root: str | None, properties: list[str]) -> Namespace:
    if root is None:
        return source
    from lancespace import connect

    return connect("dir", {"root": root, **parse_properties(properties)})
