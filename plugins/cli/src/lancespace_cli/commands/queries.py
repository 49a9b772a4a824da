"""Rows of a table: head, count, query, sql."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lancespace_cli.options import Branch, Columns, Filter, Table, Tag, Version, moment
from lancespace_cli.parsing import parse_names, parse_vector
from lancespace_cli.state import state_of

app = typer.Typer()


@app.command()
def head(
    context: typer.Context,
    name: Table,
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="How many rows.")] = 10,
    columns: Columns = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Show the first rows.

    Example: lancespace head sales.orders -n 5 --columns id,item
    """
    at = moment(state_of(context).namespace, name, version, tag, branch)
    _query(context, name, k=limit, columns=parse_names(columns), **at)


@app.command()
def count(
    context: typer.Context,
    name: Table,
    *,
    predicate: Filter = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Count the rows, or those that match a filter.

    Example: lancespace count sales.orders --filter "price > 100"
    """
    state = state_of(context)
    at = moment(state.namespace, name, version, tag, branch)
    state.output.json(state.namespace.count_table_rows(name, predicate=predicate, **at).count)


@app.command()
def query(
    context: typer.Context,
    name: Table,
    *,
    predicate: Filter = None,
    vector: Annotated[str | None, typer.Option(metavar="X,Y,…", help="Rows nearest to this vector.")] = None,
    vector_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to search, if there are several vectors.")
    ] = None,
    distance: Annotated[str | None, typer.Option(metavar="l2|cosine|dot", help="What near means.")] = None,
    text: Annotated[str | None, typer.Option(metavar="WORDS", help="Full-text search for these words.")] = None,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", min=1, help="How many rows at most; a search answers 10.")
    ] = None,
    offset: Annotated[int | None, typer.Option(min=0, help="The number of rows to skip.")] = None,
    columns: Columns = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Find rows by filter, by vector, by text, or by all of them together.

    Example: lancespace query docs --text "lance tables" --filter "lang = 'en'" -n 5
    """
    wanted: dict[str, Any] = {"filter": predicate, "full_text_query": text, "k": limit, "offset": offset}
    search = {"vector": parse_vector(vector), "vector_column": vector_column, "distance_type": distance}
    at = moment(state_of(context).namespace, name, version, tag, branch)
    _query(context, name, columns=parse_names(columns), **wanted, **search, **at)


@app.command()
def sql(
    context: typer.Context,
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="A query over tables by their names.")],
) -> None:
    """Run SQL over the tables of the catalog; needs lancespace[sql].

    Example: lancespace sql "SELECT item, count(*) FROM sales.orders GROUP BY item"
    """
    state = state_of(context)
    state.output.rows(state.namespace.sql(statement))


def _query(context: typer.Context, name: str, **fields: Any) -> None:
    state = state_of(context)
    given = {key: value for key, value in fields.items() if value is not None}
    state.output.rows(state.namespace.table(name).query(**given))
