"""Indexes of a table, and figures about it: index, stats."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lancespace_cli.options import Branch, DryRun, Table
from lancespace_cli.parsing import parse_values
from lancespace_cli.state import state_of

Index = Annotated[str, typer.Argument(metavar="INDEX", help="The name of the index.")]
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column to index.")]
Kind = Annotated[str, typer.Argument(metavar="TYPE", help="e.g. BTREE, BITMAP, FTS, IVF_PQ, IVF_HNSW_SQ.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="e.g. distance_type=cosine, num_partitions=256; may be repeated."
    ),
]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    index = typer.Typer(help="Indexes: list, create, drop, stats.", no_args_is_help=True)
    index.command("list")(list_indexes)
    index.command("create")(create)
    index.command("drop")(drop)
    index.command("stats")(index_stats)
    app.add_typer(index, name="index")
    app.command()(stats)


def list_indexes(context: typer.Context, name: Table, *, branch: Branch = None) -> None:
    """List the indexes of a table.

    Example: lancespace index list sales.orders
    """
    state = state_of(context)
    found: list[Any] = []
    token: str | None = None
    while True:
        page = state.namespace.list_table_indices(name, branch=branch, page_token=token)
        found += page.indexes
        if not page.page_token or page.page_token == token:
            break
        token = page.page_token
    rows = [(one.index_name, ", ".join(one.columns), one.index_type, one.status) for one in found]
    state.output.table(("index", "columns", "type", "status"), rows)


def create(
    context: typer.Context,
    name: Table,
    column: Column,
    kind: Kind,
    *,
    called: Annotated[str | None, typer.Option("--name", metavar="INDEX", help="What to call it.")] = None,
    settings: Settings = None,
    branch: Branch = None,
) -> None:
    """Build an index, and wait for it; `job index` builds a large one in pieces.

    Example: lancespace index create docs embedding IVF_PQ --set distance_type=cosine
    """
    state = state_of(context)
    options = parse_values(settings or [])
    state.output.remark(f"Indexing {column} of {name} …")
    state.namespace.create_table_index(name, column=column, index_type=kind, name=called, branch=branch, **options)
    state.output.done(f"{column} of {name} has an index of type {kind}.", name=name, column=column, index_type=kind)


def drop(context: typer.Context, name: Table, index: Index, *, branch: Branch = None, dry_run: DryRun = False) -> None:
    """Drop an index; the rows stay. Asks first.

    Example: lancespace index drop docs embedding_idx
    """
    state = state_of(context)
    if dry_run:
        state.namespace.describe_table_index_stats(name, index_name=index, branch=branch)
        return state.output.done(f"Would drop the index {index} of {name}.", would_drop=index)
    state.confirm(f"Drop the index {index} of {name}?")
    state.namespace.drop_table_index(name, index_name=index, branch=branch)
    return state.output.done(f"Dropped the index {index}.", dropped=index)


def index_stats(context: typer.Context, name: Table, index: Index, *, branch: Branch = None) -> None:
    """Tell how much of a table an index covers.

    Example: lancespace index stats docs embedding_idx
    """
    state = state_of(context)
    found = state.namespace.describe_table_index_stats(name, index_name=index, branch=branch)
    state.output.record(found.model_dump(exclude_none=True))


def stats(context: typer.Context, name: Table, *, branch: Branch = None) -> None:
    """Tell how large a table is, and how its rows are spread over fragments.

    Example: lancespace stats sales.orders
    """
    state = state_of(context)
    found = state.namespace.get_table_stats(name, branch=branch).model_dump(exclude_none=True)
    if not state.output.as_json:
        fragments = found.pop("fragment_stats")
        lengths = fragments.pop("lengths")
        found |= fragments | {f"rows_per_fragment_{key}": value for key, value in lengths.items()}
    state.output.record(found)
