"""Transform: rows of a table, through SQL or a function, into another one."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lance_namespace import InternalError, InvalidInputError, TableNotFoundError
from pyspark.errors import PySparkException

from lancespace_jobs import TableSpec, take_back
from lancespace_spark.failures import cause
from lancespace_spark.mapping import map_batches
from lancespace_spark.merging import upsert
from lancespace_spark.pipeline import functions
from lancespace_spark.pipeline.context import Context, Done, Look
from lancespace_spark.pipeline.sources import new_rows
from lancespace_spark.queries import sql
from lancespace_spark.source import NAME
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from lancespace_spark.merging import Merged
    from lancespace_spark.pipeline.model import Step

_sql, _upsert = inspect.unwrap(sql), inspect.unwrap(upsert)
"""As they raise what Spark raises, which is said here in the words of the step."""

SOURCE = "source"
"""What the SQL of a transform calls the rows that it works on."""


def transform(step: Step, look: Look, context: Context) -> Done:
    """Work on the rows that are new, and write what comes of them."""
    if look.now is None:
        raise InvalidInputError(f"'from': the table {step.reads!r} is not there, or has no rows yet")
    with _plainly(step):
        source = new_rows(step, look, context)
        if source is None:
            return Done(0, look.now)
        rows = _made(step, source, context)
        with _leaving_nothing(step, context):
            is_by_key = step.mode == "upsert"
            count = _upserted(step, rows, context) if is_by_key else _written(step, rows, look, context)
            return Done(count, look.now)


@contextmanager
def _plainly(step: Step) -> Iterator[None]:
    """Have what Spark says in pages said in a line."""
    try:
        yield
    except PySparkException as error:
        if "function" in step.fields:
            found = cause(error, InvalidInputError)
            raise type(found)(f"'function' {step.get('function')}: {found}") from error
        raise cause(error) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        raise cause(error, InternalError) from error


def _made(step: Step, source: DataFrame, context: Context) -> DataFrame:
    """The rows that a step makes of its source, by SQL or by a function."""
    if step.get("sql"):
        return _queried(step, source, context)
    function = functions.find(step, context.pipeline.folder)

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield function(batch)

    try:
        return map_batches(source, mapped, step.get("schema"))
    except PySparkException as error:
        raise InvalidInputError(f"'schema' cannot be {step.get('schema')!r}: {cause(error)}") from error


def _queried(step: Step, source: DataFrame, context: Context) -> DataFrame:
    """The answer of the step's SQL, in which ``source`` is the rows, even if the catalog has a table of that name."""
    spark, query = context.spark(), str(step.get("sql")).rstrip("; \n\t")
    view = f"{SOURCE}_{uuid.uuid4().hex}"
    source.createOrReplaceTempView(view)
    named = f"WITH {SOURCE} AS (SELECT * FROM {view})"  # noqa: S608 - both names are ours
    try:
        answer: DataFrame = _sql(spark, context.namespace, f"{named} (\n{query}\n)")
        return answer
    except (PySparkException, TableNotFoundError) as error:
        raise InvalidInputError(f"'sql': {cause(error)}") from error
    finally:
        spark.catalog.dropTempView(view)


@contextmanager
def _leaving_nothing(step: Step, context: Context) -> Iterator[None]:
    """Have a failure, or Ctrl-C, leave no table that was not there before."""
    table = context.namespace.table(step.writes)
    was_there = table.exists()
    try:
        yield
    except BaseException:
        if not was_there and table.exists():
            _give_back(step, context)
        raise


def _give_back(step: Step, context: Context) -> None:
    """Drop a new table, unless others have begun to write to it: an upsert makes a first version without rows."""
    latest = context.latest(step.writes)
    if latest is None:
        take_back(TableSpec.of(context.namespace, step.writes))
    elif latest.version == 1 and not latest.count_rows():
        with suppress(TableNotFoundError):
            context.namespace.drop_table(step.writes)


def _upserted(step: Step, rows: DataFrame, context: Context) -> int:
    """Merge the rows by their key, also those of a first run: a key that is there twice is refused from the start."""
    if context.latest(step.writes) is None:
        schema = stored_schema(rows.schema, step.get("vectors") or {}, None)
        context.namespace.create_table(step.writes, schema.empty_table(), mode="overwrite")
    try:
        done: Merged = _upsert(context.spark(), context.namespace, step.writes, rows, step.get("key"))
    except PySparkException as error:
        found = cause(error)
        if "several rows with the key" not in str(found):
            raise
        raise InvalidInputError(
            f"{found}: have the step leave one row for each key, e.g. by SQL with max_by(…) and "
            f"GROUP BY {', '.join(step.get('key'))}"
        ) from error
    return done.updated + done.inserted


def _written(step: Step, rows: DataFrame, look: Look, context: Context) -> int:
    """Write the rows; an append carries the version it was made of, so that a repeat changes nothing."""
    backend, properties = context.namespace.connection_args()
    writer = rows.write.format(NAME).options(namespace=backend, table=step.writes, **properties)
    vectors = ",".join(f"{column}:{size}" for column, size in (step.get("vectors") or {}).items())
    if vectors:
        writer = writer.option("vectors", vectors)
    if step.mode == "overwrite":
        writer.mode("overwrite").save()
        return context.count(step.writes)
    before = context.count(step.writes)
    context.begin({"source": look.now})
    stream = f"pipeline {context.pipeline.name} step {step.name} {look.mark}"
    writer.option("stream_id", stream).option("batch", str(look.now["version"])).mode("append").save()
    return context.count(step.writes) - before
