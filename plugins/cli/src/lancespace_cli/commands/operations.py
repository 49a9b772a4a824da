"""``op``: any operation of the spec, with its request as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace.authoring import OPERATIONS, Operation
from lancespace_cli.completion import operations
from lancespace_cli.state import state_of
from lancespace_cli.values import to_json

if TYPE_CHECKING:
    import pyarrow as pa

app = typer.Typer()


@app.command()
def op(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="OPERATION", help="e.g. describe_table; `list` names them all.", autocompletion=operations
        ),
    ],
    request: Annotated[
        str, typer.Argument(metavar="JSON", help='e.g. \'{"id": ["sales", "orders"]}\'; - reads standard input.')
    ] = "{}",
    *,
    data: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="An Arrow IPC file or stream, for operations that take rows."),
    ] = None,
) -> None:
    """Call any operation of the Lance Namespace spec; the answer is printed as JSON.

    Example: lancespace op list_tables '{"id": ["sales"]}'
    """
    state = state_of(context)
    if name == "list":
        return state.output.table(("operation", "request"), [(row.name, row.request) for row in OPERATIONS.values()])
    operation = _operation(name)
    fields = _parsed(sys.stdin.read() if request == "-" else request)
    rows = _rows(operation, data)
    answer = state.namespace.call(operation, fields.pop("id", None), rows, **fields)
    return _print(context, answer)


def _operation(name: str) -> Operation:
    if name not in OPERATIONS:
        from difflib import get_close_matches

        near = ", ".join(get_close_matches(name, OPERATIONS))
        hint = f"near: {near}" if near else "they are in: lancespace op list"
        raise typer.BadParameter(f"there is no operation {name!r}; {hint}")
    return OPERATIONS[name]


def _parsed(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"the request is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise typer.BadParameter("the request must be a JSON object")
    return fields


def _rows(operation: Operation, path: Path | None) -> pa.RecordBatchReader | None:
    if operation.takes_data and path is None:
        raise typer.BadParameter(f"{operation.name} takes rows: add --data FILE")
    if path is None:
        return None
    if not operation.takes_data:
        raise typer.BadParameter(f"{operation.name} takes no data")
    import pyarrow as pa

    from lancespace.authoring import translated

    source = pa.memory_map(str(path))
    try:
        table = pa.ipc.open_file(source).read_all()
        return table.to_reader()
    except pa.ArrowInvalid:
        source.seek(0)
        with translated(f"read {path} as an Arrow IPC file or stream"):
            return pa.ipc.open_stream(source)


def _print(context: typer.Context, answer: Any) -> None:
    output = state_of(context).output
    if hasattr(answer, "model_dump"):
        output.json(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
    elif isinstance(answer, str):
        output.lines([answer])
    else:
        output.lines(to_json(row) for batch in answer for row in batch.to_pylist())
