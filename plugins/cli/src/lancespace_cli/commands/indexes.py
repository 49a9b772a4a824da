"""Indexes of a table, and figures about it: index, stats."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli.options import Branch, Column, DryRun, IndexSettings, IndexType, Table
from lancespace_cli.parsing import parse_values
from lancespace_cli.state import state_of

Index = Annotated[str, typer.Argument(metavar="INDEX", help="The name of the index.")]

app = typer.Typer()
index = typer.Typer(help="Indexes: list, create, drop, stats.", no_args_is_help=True)
app.add_typer(index, name="index")


@index.command("list")
def list_indexes(context: typer.Context, name: Table, *, branch: Branch = None) -> None:
    """List the indexes of a table.

    Example: lancespace index list sales.orders
    """
    from lancespace.authoring import pages

    state = state_of(context)
    answers = pages(lambda token: state.namespace.list_table_indices(name, branch=branch, page_token=token))
    found = [index for page in answers for index in page.indexes]
    rows = [(one.index_name, ", ".join(one.columns), one.index_type, one.status) for one in found]
    state.output.table(("index", "columns", "type", "status"), rows)


@index.command()
def create(
    context: typer.Context,
    name: Table,
    column: Column,
    kind: IndexType,
    *,
    called: Annotated[str | None, typer.Option("--name", metavar="INDEX", help="What to call it.")] = None,
    settings: IndexSettings = None,
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


@index.command()
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


@index.command("stats")
def index_stats(context: typer.Context, name: Table, index: Index, *, branch: Branch = None) -> None:
    """Tell how much of a table an index covers.

    Example: lancespace index stats docs embedding_idx
    """
    state = state_of(context)
    found = state.namespace.describe_table_index_stats(name, index_name=index, branch=branch)
    state.output.record(found.model_dump(exclude_none=True))


@app.command()
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
