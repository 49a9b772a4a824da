"""The fields of a ``CreateMaterializedViewRequest``, from what people have."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from lance_namespace import InvalidInputError, TableSchemaValidationError

Fields = dict[str, Any]


def query_view(sql: str, schema: pa.Schema, *, auto_refresh: bool = False) -> Fields:
    """The fields of a view that keeps the rows of a query.

    Args:
        sql: A ``SELECT`` over tables of the namespace, as :meth:`lancespace.Namespace.sql` takes it.
        schema: The columns that it yields, by name and type.
        auto_refresh: Whether the view is refreshed when its sources change.
    """
    return {
        "kind": "query",
        "source_query": write_query(sql),
        "output_schema": write_schema(schema),
        "auto_refresh": auto_refresh,
    }


def chunker(
    function: Callable[..., Any],
    sql: str,
    schema: pa.Schema,
    *,
    input_columns: Sequence[str],
    batch: bool = False,
    version: str = "1",
    auto_refresh: bool = False,
) -> Fields:
    """The fields of a view that keeps what a function makes of each row: any number of rows.

    Args:
        function: Gets the values of the input columns of one row, and returns or yields dicts; columns of the view that
            are not in a dict are those of the row. With ``batch``, it gets a ``pyarrow.RecordBatch`` of the input
            columns, and returns Arrow data or a list of dicts with all columns of the view.
        sql: The rows that it gets.
        schema: The columns of the view.
        input_columns: What the function gets of the query's columns.
        batch: Whether it gets many rows at once.
        version: A name for this version of the function.
        auto_refresh: As in :func:`query_view`.
    """
    spec = _spec("chunker", function, version) | {"input_columns": list(input_columns), "batch": batch}
    return query_view(sql, schema, auto_refresh=auto_refresh) | {"kind": "chunker", "udtf_spec": spec}


def udtf(
    function: Callable[..., Any],
    sql: str,
    schema: pa.Schema,
    *,
    input_columns: Sequence[str] | None = None,
    partition_by: str | None = None,
    version: str = "1",
    auto_refresh: bool = False,
) -> Fields:
    """The fields of a view that keeps what a function makes of all rows of a query, or of each partition of them.

    Args:
        function: Gets a ``pyarrow.Table`` of the input columns, and returns Arrow data, a list of dicts, or an iterator
            of those, with all columns of the view.
        sql: The rows that it gets.
        schema: The columns of the view.
        input_columns: What the function gets of the query's columns; all, if it is None.
        partition_by: A column: the function is called for each of its values, with the rows that have it.
        version: A name for this version of the function.
        auto_refresh: As in :func:`query_view`.
    """
    columns = {"input_columns": None if input_columns is None else list(input_columns), "partition_by": partition_by}
    given = {name: value for name, value in columns.items() if value is not None}
    spec = _spec("udtf", function, version) | given
    return query_view(sql, schema, auto_refresh=auto_refresh) | {"kind": "udtf", "udtf_spec": spec}


def _spec(kind: str, function: Callable[..., Any], version: str) -> Fields:
    import cloudpickle

    pickled = base64.b64encode(cloudpickle.dumps(function)).decode()
    envelope = json.dumps({"version": VERSION, "function": pickled}).encode()
    return {
        "kind": kind,
        "udtf": base64.b64encode(envelope).decode(),
        "udtf_sha": hashlib.sha256(envelope).hexdigest(),
        "udtf_name": getattr(function, "__name__", type(function).__name__),
        "udtf_version": version,
    }


VERSION = 1
DIALECT = "datafusion"


def write_query(sql: str) -> str:
    """The ``source_query`` of a statement."""
    return json.dumps({"version": VERSION, "sql": sql, "dialect": DIALECT})


def read_query(text: str) -> str:
    """The statement of a ``source_query``.

    Raises:
        InvalidInputError: If it is not an envelope of this version; the message says what is wrong with it.
    """
    envelope = read_envelope("source_query", text, required=("sql",), optional=("dialect",))
    if envelope.get("dialect", DIALECT) != DIALECT:
        raise InvalidInputError(f"source_query: the dialect {envelope['dialect']!r} is not known, only {DIALECT!r} is.")
    if not isinstance(envelope["sql"], str) or not envelope["sql"].strip():
        raise InvalidInputError("source_query: 'sql' must be a SELECT statement.")
    return envelope["sql"]


def read_envelope(what: str, text: str | bytes, *, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Any:
    """A JSON object with a ``version`` and exactly these fields.

    Raises:
        InvalidInputError: Naming the field that is missing or not known.
    """
    example = ", ".join(f'"{name}": …' for name in required)
    try:
        envelope = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f'{what} is not JSON: write it as {{"version": {VERSION}, {example}}}.') from error
    if not isinstance(envelope, dict) or envelope.get("version") != VERSION:
        raise InvalidInputError(
            f'{what} must be a JSON object of version {VERSION}, as in {{"version": {VERSION}, {example}}}.'
        )
    known = {"version", *required, *optional}
    for wrong, problem in ((set(required) - envelope.keys(), "lacks"), (envelope.keys() - known, "does not know")):
        if wrong:
            raise InvalidInputError(f"{what} {problem} the field {min(wrong)!r}; it has {', '.join(sorted(known))}.")
    return envelope


def write_schema(schema: pa.Schema) -> str:
    """The ``output_schema`` of an Arrow schema."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def read_schema(text: str) -> pa.Schema:
    """The Arrow schema of an ``output_schema``.

    Raises:
        TableSchemaValidationError: If it is none, or has no columns.
    """
    import pyarrow as pa

    try:
        schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text, validate=True)))
    except (ValueError, OSError) as error:  # pyarrow.ArrowInvalid is a ValueError, too.
        raise TableSchemaValidationError(
            "output_schema is not the base64 of an Arrow schema as IPC writes it (pyarrow: schema.serialize())."
        ) from error
    if not schema.names or len(set(schema.names)) < len(schema.names):
        raise TableSchemaValidationError("output_schema must have columns, each with a name of its own.")
    return schema
