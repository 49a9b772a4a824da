"""Importing what Spark reads: tables and views by their names, or the answer of a query, as a job of the catalog."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace.authoring import Job, fingerprint
from lancespace_jobs import (
    Stage,
    SubmittedJob,
    TableSpec,
    Written,
    check_ingest_mode,
    discard_all,
    ingest,
    is_ingested,
    submit,
)
from lancespace_spark import repeatable, statements
from lancespace_spark.engine import settings_of
from lancespace_spark.failures import cause, public
from lancespace_spark.pieces import Pieces
from lancespace_spark.sessions import current, make_active
from lancespace_spark.types import stored_schema
from lancespace_tables import in_rounds

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace
    from lancespace.authoring import Identifier, Work

_log = logging.getLogger(__name__)


@public
def import_table(
    namespace: Namespace,
    table: Identifier,
    source: str | None = None,
    *,
    query: str | None = None,
    mode: str = "append",
    vectors: Mapping[str, int] | None = None,
) -> SubmittedJob:
    """Import a table or view that Spark knows by a name, or what a ``query`` answers, in one commit.

    It is read by the running Spark session or, if there is none, a new one with the connection's settings
    (``spark.*``). A partition is a task, whichever engine the connection has. A table that is not there is created;
    ``vectors`` says how long arrays are that are to be vectors in it. Its name is reserved first: an import that fails
    or is cancelled leaves it declared. A repeat goes on from the partitions that were finished if these surely have the
    same rows again; otherwise it begins anew.

    Raises:
        InvalidInputError: If Spark does not know the source, or it is no query.
        TableSchemaValidationError: If its columns do not fit the table.
    """
    check_ingest_mode(mode)
    frame = _frame(current(settings_of(namespace.backend.connection)), source, query)
    handle = TableSpec.of(namespace, table)
    existing = None if mode == "overwrite" else handle.latest()
    stored_schema(frame.schema, dict(vectors or {}), None if existing is None else existing.schema)
    plan = _plan(frame)
    lengths = sorted((vectors or {}).items())
    mark = fingerprint("import", namespace.namespace_id(), handle.id, plan or uuid.uuid4().hex, mode, lengths)
    run = _Import(frame, plan, handle, mode, dict(lengths)).run
    return submit(namespace, Job("import", handle.name, run, mark))


def _frame(spark: SparkSession, source: str | None, query: str | None) -> DataFrame:
    if (source is None) == (query is None):
        raise InvalidInputError("give either the name of a table or view that Spark knows, or a query")
    try:
        if query is not None:
            statements.parse(spark, query)
        frame = spark.table(str(source)) if query is None else spark.sql(query)
    except Exception as error:
        raise cause(error) from error
    if frame.isStreaming:
        raise InvalidInputError(f"{source or 'the query'} is a stream: write it with writeStream")
    twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if twice:
        raise InvalidInputError(f"the query answers several columns {', '.join(twice)}: give them names with AS")
    return frame


def _plan(frame: DataFrame) -> str | None:
    """What tells a repeat of an import from another one: the plan and the files; None if a repeat begins anew.

    The files are those of now: Spark remembers the ones that a table had when it was first read.
    """
    try:
        frame._jdf.queryExecution().analyzed().refresh()  # noqa: SLF001 - refreshTable does it for one name only
        plan = repeatable.plan_of(frame)
        pieces = repeatable.pieces_of(frame.rdd) if plan is not None else None
    except Exception as error:
        raise cause(error) from error
    return None if pieces is None else fingerprint(plan, pieces)


class _Import:
    """One import while it runs."""

    def __init__(
        self, frame: DataFrame, plan: str | None, handle: TableSpec, mode: str, vectors: dict[str, int]
    ) -> None:
        self._frame = frame
        self._plan = plan
        self._handle = handle
        self._mode = mode
        self._vectors = vectors
        self._written: dict[str, list[Written]] = {}
        """What tasks of this run wrote, by the shape of the table: good for every attempt to commit it."""

    def run(self, work: Work) -> None:
        """On the driver; Spark looks for its session in the thread."""
        make_active(self._frame.sparkSession)
        rounds = itertools.count()
        try:
            in_rounds(f"table {self._handle.name!r}", work, lambda: self._attempt(work, next(rounds)))
        except BaseException:
            if self._plan is None:
                self._discard(work.mark)
            raise

    def _discard(self, mark: str) -> None:
        """Take away what tasks wrote, which no repeat would use; the error that ended the import is the one to tell."""
        try:
            discard_all(self._handle, mark)
        except (LanceNamespaceError, OSError):
            _log.warning("What an import wrote to %s stays until clean-up", self._handle.name, exc_info=True)

    def _attempt(self, work: Work, number: int) -> None:
        whole = [self._plan or work.mark]
        if (number or work.is_repeat) and all(is_ingested(self._handle, work.mark, whole).values()):
            return

        def write(stage: Stage, schema: pa.Schema, shape: str) -> list[Written]:
            known = self._written.get(shape)
            if known is None or not all(map(stage.has, known)):
                self._written[shape] = known = self._pieces(stage, schema).write(work, shape)
            return known

        ingest(self._handle, self._mode, work.mark, whole, columns=self._columns, write=write)

    def _columns(self, existing: lance.LanceDataset | None) -> pa.Schema:
        return stored_schema(self._frame.schema, self._vectors, None if existing is None else existing.schema)

    def _pieces(self, stage: Stage, schema: pa.Schema) -> Pieces:
        return Pieces(self._frame, stage, schema, is_repeatable=self._plan is not None)
