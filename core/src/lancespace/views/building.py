"""The fields of a ``CreateMaterializedViewRequest``, from what people have."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lancespace.views.envelopes import VERSION, write_query, write_schema

if TYPE_CHECKING:
    import pyarrow as pa

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
