"""The texts in which a view's query and schema travel: JSON and base64, as the spec leaves them to the client."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, TableSchemaValidationError

if TYPE_CHECKING:
    import pyarrow as pa

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
