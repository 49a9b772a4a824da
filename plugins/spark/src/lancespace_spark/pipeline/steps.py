"""What the kinds of steps do. Each tells what there is to see, and works on what it has not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    InvalidInputError,
    InvalidTableStateError,
    NamespaceAlreadyExistsError,
    TableIndexAlreadyExistsError,
    UnsupportedOperationError,
)

from lancespace import identifiers, jobs
from lancespace.engines import fingerprint
from lancespace.handles import TableHandle
from lancespace_spark.merging import upsert
from lancespace_spark.queries import sql
from lancespace_spark.source import NAME

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace
    from lancespace.jobs import SubmittedJob
    from lancespace_spark.pipeline.model import Pipeline, Step

SOURCE = "source"
"""What the SQL of a transform calls the rows that it works on."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Context:
    """What a step runs in."""

    pipeline: Pipeline
    namespace: Namespace
    spark: Callable[[], SparkSession]
    """Started when the first step needs it."""
    progress: Progress

    def wait(self, job: SubmittedJob) -> int:
        """Wait for a job and pass its progress on; how many rows it did."""
        return job.wait(lambda status: self.progress(status.fraction, status.message)).rows or 0


def sights(step: Step, context: Context) -> Any:
    """What there is to see for a step now: versions, or files. If it is what it saw last time, it has nothing to do."""
    if step.kind == "ingest":
        return _files(step, context)
    if step.kind == "view":
        return None
    handle = TableHandle.of(context.namespace, str(step.reads))
    latest = handle.latest()
    return None if latest is None else {"version": latest.version}


def perform(step: Step, seen: Any, now: Any, context: Context) -> int:
    """Do the step on what it has not seen; how many rows it wrote or worked on."""
    if step.writes is not None:
        _need_namespace(context.namespace, step.writes)
    return _KINDS[step.kind](step, seen, now, context)


def _ingest(step: Step, seen: Any, now: Any, context: Context) -> int:
    """Files that were not there last time, or have changed."""
    known = {} if seen is None or step.mode == "overwrite" else seen
    new = [path for path, stamp in now.items() if known.get(path) != stamp]
    if not new:
        return 0
    mode = "overwrite" if step.mode == "overwrite" else "append"
    return context.wait(
        jobs.import_files(context.namespace, str(step.writes), new, format=step.get("format"), mode=mode)
    )


def _transform(step: Step, seen: Any, now: Any, context: Context) -> int:
    if now is None:
        raise InvalidInputError(f"step {step.name!r}: the table {step.reads!r} is not there yet")
    spark = context.spark()
    rows = _made(step, _source(step, seen, now, context), context)
    if step.mode == "upsert" and TableHandle.of(context.namespace, str(step.writes)).latest() is not None:
        done = upsert(spark, context.namespace, str(step.writes), rows, step.get("key"))
        return done.updated + done.inserted
    return _written(step, rows, now, context)


def _source(step: Step, seen: Any, now: Any, context: Context) -> DataFrame:
    """The rows to work on: what was appended since last time, or all if rows changed or a run replaces everything."""
    if seen is None or step.mode == "overwrite":
        return _read(step, now, context)
    increment = _read(step, now, context, since_version=str(seen["version"]))
    try:
        increment.isEmpty()
    except Exception as error:
        if not _is_no_increment(error):
            raise
        if step.mode == "append":
            raise UnsupportedOperationError(
                f"step {step.name!r} appends what is new in {step.reads!r}, but rows there were changed or removed "
                f"since version {seen['version']}: give the step a 'key' (then rows are upserted), or mode 'overwrite'"
            ) from error
        context.progress(0.0, f"rows of {step.reads} have changed: working on all of them")
        return _read(step, now, context)
    return increment


def _read(step: Step, now: Any, context: Context, **options: str) -> DataFrame:
    backend, properties = context.namespace.recipe()
    reader = context.spark().read.format(NAME).options(namespace=backend, table=str(step.reads), **properties)
    return reader.options(version=str(now["version"]), **options).load()


def _is_no_increment(error: Exception) -> bool:
    names = (UnsupportedOperationError.__name__, InvalidTableStateError.__name__)
    return any(name in str(error) for name in names)


def _made(step: Step, source: DataFrame, context: Context) -> DataFrame:
    """The rows that a step makes of its source, by SQL or by a function."""
    if step.get("sql"):
        source.createOrReplaceTempView(SOURCE)
        return sql(context.spark(), context.namespace, step.get("sql"))
    function = _function(step, context)

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield function(batch)

    return source.mapInArrow(mapped, step.get("schema"))


def _function(step: Step, context: Context) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """``module:name``, of a module beside the pipeline file or an installed one."""
    module, colon, name = str(step.get("function")).partition(":")
    if not colon:
        raise InvalidInputError(f"step {step.name!r}: 'function' must be of the form module:name")
    beside = Path(context.pipeline.folder, f"{module}.py")
    try:
        home = _shipped(beside) if beside.exists() else import_module(module)
        found: Callable[[pa.RecordBatch], pa.RecordBatch] = getattr(home, name)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"step {step.name!r}: there is no function {step.get('function')!r}: {error}"
        ) from error
    return found


def _shipped(file: Path) -> ModuleType:
    """A module beside the file: executors, which do not have it, are sent its functions themselves."""
    from pyspark import cloudpickle

    spec = spec_from_file_location(f"pipeline_{fingerprint(str(file))}_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module


def _written(step: Step, rows: DataFrame, now: Any, context: Context) -> int:
    """Write the rows; an append carries the version it was made of, so that a repeat changes nothing."""
    backend, properties = context.namespace.recipe()
    writer = rows.write.format(NAME).options(namespace=backend, table=str(step.writes), **properties)
    vectors = ",".join(f"{column}:{size}" for column, size in (step.get("vectors") or {}).items())
    if vectors:
        writer = writer.option("vectors", vectors)
    before = _count(step, context)
    if step.mode == "overwrite":
        writer.mode("overwrite").save()
        return _count(step, context)
    stream = f"pipeline {context.pipeline.name} step {step.name} {step.fingerprint()}"
    writer.option("stream_id", stream).option("batch", str(now["version"])).mode("append").save()
    return _count(step, context) - before


def _count(step: Step, context: Context) -> int:
    latest = TableHandle.of(context.namespace, str(step.writes)).latest()
    return 0 if latest is None else int(latest.count_rows())


def _index(step: Step, seen: Any, now: Any, context: Context) -> int:  # noqa: ARG001 - what all kinds are given
    table, column = str(step.get("table")), str(step.get("column"))
    named = {"name": step.get("index")} if step.get("index") else {}
    try:
        job = jobs.build_index(
            context.namespace, table, column, str(step.get("type")), **named, **(step.get("options") or {})
        )
    except TableIndexAlreadyExistsError:
        context.progress(0.0, "taking in new rows")
        TableHandle.of(context.namespace, table).open().optimize.optimize_indices()
        return 0
    return context.wait(job)


def _view(step: Step, seen: Any, now: Any, context: Context) -> int:  # noqa: ARG001 - what all kinds are given
    from lancespace.jobs.submitted import SubmittedJob
    from lancespace.views import query_view

    view = str(step.get("view"))
    if not context.namespace.table(view).exists():
        schema = context.namespace.sql(step.get("sql")).schema
        context.namespace.create_materialized_view(view, **query_view(step.get("sql"), schema), with_no_data=True)
    refreshed = context.namespace.refresh_materialized_view(view)
    return context.wait(SubmittedJob(context.namespace, refreshed.job_id))


def _compact(step: Step, seen: Any, now: Any, context: Context) -> int:  # noqa: ARG001 - what all kinds are given
    options = {name: step.get(name) for name in ("target_rows_per_fragment",) if step.get(name)}
    return context.wait(jobs.compact(context.namespace, str(step.get("table")), **options))


def _clean_up(step: Step, seen: Any, now: Any, context: Context) -> int:  # noqa: ARG001 - what all kinds are given
    days = float(step.get("older_than_days", 7))
    return context.wait(jobs.clean_up(context.namespace, str(step.get("table")), older_than=timedelta(days=days)))


_KINDS: dict[str, Callable[[Step, Any, Any, Context], int]] = {
    "ingest": _ingest,
    "transform": _transform,
    "index": _index,
    "view": _view,
    "compact": _compact,
    "clean_up": _clean_up,
}


def _files(step: Step, context: Context) -> dict[str, str]:
    """The files of an ingest, each with a stamp that changes when it does."""
    import fsspec

    given = step.get("files")
    found: dict[str, str] = {}
    for pattern in [given] if isinstance(given, str) else given:
        whole = pattern if "://" in pattern else str(Path(context.pipeline.folder, pattern))
        filesystem, path = fsspec.core.url_to_fs(whole)
        paths = filesystem.glob(path) if "*" in path else [path]
        for one in paths:
            for name, info in filesystem.find(one, detail=True).items():
                stamp = str(info.get("ETag") or info.get("mtime") or info.get("updated") or info.get("last_modified"))
                found[filesystem.unstrip_protocol(name)] = f"{info.get('size')} {stamp}"
    if not found:
        raise InvalidInputError(f"step {step.name!r}: there is no file {given!r}")
    return found


def _need_namespace(namespace: Namespace, table: str) -> None:
    """Create the namespaces that a table is to be in."""
    parents = identifiers.parse(table)[:-1]
    for depth in range(1, len(parents) + 1):
        try:
            namespace.create_namespace(parents[:depth], mode="exist_ok")
        except NamespaceAlreadyExistsError as error:
            raise InvalidInputError(f"{'.'.join(parents[:depth])!r} is a table: nothing can be in it") from error
