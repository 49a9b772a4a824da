"""One query, streamed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from datafusion import DataFrame, RecordBatchStream, SessionContext, SQLOptions
from lance_namespace import InvalidInputError, LanceNamespaceError, TableColumnNotFoundError

from lancespace import Namespace
from lancespace.authoring import Connection, hookimpl, is_failure, public, translate, translated
from lancespace_sql.catalog import Notes
from lancespace_sql.names import suggestion
from lancespace_sql.session import noting_session
from lancespace_tables import shallow

_READ_ONLY = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
_NOT_A_QUERY = re.compile(r"(?:DDL|DML|Statement) not supported: (\w[\w ]*)")
_NOT_FOUND = re.compile(r"table '(.*)' not found$", re.DOTALL)
_NOISE = re.compile(r"^(?:(?:DataFusion|SQL) error: |Error during planning: |This feature is not implemented: )+")
_PARSER = re.compile(r'^ParserError\("(.*)"\)$', re.DOTALL)


@public
def sql(namespace: Namespace, statement: str, parameters: Mapping[str, Any] | None = None) -> pa.RecordBatchReader:
    """Run one query (``SELECT``, ``EXPLAIN``, ``DESCRIBE``) over the tables of a namespace and stream the result.

    Args:
        namespace: Where tables are looked up; only those that the statement names are opened.
        statement: Tables are named as elsewhere: ``orders``, ``sales.orders``, ``sales.eu.orders``.
        parameters: Values for ``$name`` in the statement.

    Raises:
        TableNotFoundError: If there is no such table; the message has those of similar names.
        NamespaceNotFoundError: As above, for a namespace.
        TableColumnNotFoundError: If a table has no such column.
        InvalidInputError: If the statement cannot be understood, or is not a query: SQL changes nothing.
    """
    notes = Notes()
    context = noting_session(namespace, notes)
    return streamed(planned(context, statement, notes, parameters, lambda names: suggestion(namespace, names)))


def planned(
    context: SessionContext,
    statement: str,
    notes: Notes,
    parameters: Mapping[str, Any] | None = None,
    suggest: Callable[[list[str]], str] = lambda _: "",
) -> DataFrame:
    """The plan of one query; what is wrong with it is one of the spec's errors."""
    shallow(statement)
    try:
        return context.sql_with_options(statement, _READ_ONLY, param_values=dict(parameters or {}))
    except BaseException as error:
        if isinstance(error, LanceNamespaceError) or not is_failure(error):
            raise
        raise _explained(error, notes, suggest) from error


def streamed(frame: DataFrame) -> pa.RecordBatchReader:
    """The rows of a planned query, a few batches at a time."""
    with translated("SQL"):
        # The frame's own Arrow stream reads one partition after another, while the later ones pile up in memory.
        return pa.RecordBatchReader.from_batches(frame.schema(), _batches(frame.execute_stream(), frame))


def _batches(stream: RecordBatchStream, _frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The batches; the frame is held with them, for by it the namespace lives on until all is read."""
    with translated("SQL"):
        for batch in stream:
            yield batch.to_pyarrow()


def _explained(error: BaseException, notes: Notes, suggest: Callable[[list[str]], str]) -> LanceNamespaceError:
    """Why a statement could not be planned, in the errors of the spec."""
    if notes.raised:
        return notes.raised[0]
    text = _NOISE.sub("", str(error))
    missing = _NOT_FOUND.search(text)
    if missing and missing[1] in notes.missing:
        names, reason = notes.missing[missing[1]]
        return type(reason)(f"{reason}{suggest(names)}")
    refused = _NOT_A_QUERY.search(text)
    if refused:
        return InvalidInputError(
            f"SQL only reads the catalog, and {refused[1]} is not a query: "
            "change tables with the namespace's operations, such as create_table, insert_into_table or drop_table."
        )
    failure = translate(error, about="SQL")
    if isinstance(failure, TableColumnNotFoundError) or not isinstance(error, Exception):
        return failure
    parser = _PARSER.match(text)
    return InvalidInputError(f"SQL: {parser[1] if parser else text}")


class SqlExtension:
    """Answers ``Namespace.sql``."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @hookimpl
    def run_sql(
        self, namespace: Namespace, statement: str, parameters: Mapping[str, Any] | None
    ) -> pa.RecordBatchReader:
        """Run a query and stream its result."""
        return sql(namespace, statement, parameters)
