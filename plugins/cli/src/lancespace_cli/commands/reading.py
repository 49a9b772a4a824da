"""Rows of a table: head, count, query, sql."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from lancespace_cli.state import state_of

Name = Annotated[str, typer.Argument(help="The table's dotted name, e.g. sales.orders.")]
Columns = Annotated[str | None, typer.Option(help="Only these columns, comma separated.")]
Filter = Annotated[str | None, typer.Option("--filter", help="Only rows for which this SQL expression holds.")]
Version = Annotated[int | None, typer.Option(help="The table as it was at this version.")]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (head, count, query, sql):
        app.command()(command)


def head(
    context: typer.Context,
    name: Name,
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="How many rows.")] = 10,
    columns: Columns = None,
    version: Version = None,
) -> None:
    """Show the first rows."""
    _query(context, name, k=limit, columns=_listed(columns), version=version)


def count(context: typer.Context, name: Name, *, predicate: Filter = None, version: Version = None) -> None:
    """Count the rows, or those that match a filter."""
    state = state_of(context)
    found = state.namespace.count_table_rows(name, predicate=predicate, version=version)
    state.output.json(found.count)


def query(
    context: typer.Context,
    name: Name,
    *,
    predicate: Filter = None,
    vector: Annotated[str | None, typer.Option(help="Nearest to this vector: numbers, comma separated.")] = None,
    text: Annotated[str | None, typer.Option(help="Full-text search for these words.")] = None,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="How many rows at most.")] = None,
    columns: Columns = None,
    version: Version = None,
) -> None:
    """Find rows by filter, by vector, by text, or by all of them together."""
    wanted: dict[str, Any] = {"filter": predicate, "full_text_query": text, "k": limit}
    _query(context, name, columns=_listed(columns), version=version, vector=_vector(vector), **wanted)


def sql(
    context: typer.Context, statement: Annotated[str, typer.Argument(help="A SELECT over tables by their names.")]
) -> None:
    """Run SQL over the tables of the catalog."""
    state = state_of(context)
    state.output.rows(state.namespace.sql(statement))


def _query(context: typer.Context, name: str, **fields: Any) -> None:
    state = state_of(context)
    given = {key: value for key, value in fields.items() if value is not None}
    state.output.rows(state.namespace.table(name).query(**given))


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _vector(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(number) for number in json.loads(f"[{text.strip().strip('[]')}]")]
    except (ValueError, TypeError):
        raise typer.BadParameter("--vector takes numbers, comma separated, e.g. 0.1,0.2,0.3") from None
