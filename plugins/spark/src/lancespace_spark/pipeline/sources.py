"""What there is to see of a table, and what is new in it since a step last looked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidTableStateError, TableVersionNotFoundError, UnsupportedOperationError

from lancespace_jobs import TableSpec
from lancespace_spark.changes import changed_fragments
from lancespace_spark.options import parse
from lancespace_spark.source import NAME
from lancespace_spark.streams import increments

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame

    from lancespace_spark.pipeline.context import Context, Look
    from lancespace_spark.pipeline.model import Step


def sight(table: str, context: Context) -> dict[str, Any] | None:
    """The table's version, and when it was committed: one that was dropped and made anew has other times."""
    latest = context.latest(table)
    return None if latest is None else {"version": latest.version, "at": _time(latest)}


def new_rows(step: Step, look: Look, context: Context) -> DataFrame | None:
    """The rows to work on: those that are new since last time, or all if that will not do; None if there are none.

    Raises:
        UnsupportedOperationError: If the step appends, and what is new cannot be told.
    """
    if look.seen is None or step.mode == "overwrite":
        return _read(step, look, context)
    problem, options = _news(step, look, context)
    if problem is None:
        return None if options is None else _read(step, look, context, **options)
    if step.mode == "append":
        raise UnsupportedOperationError(
            f"the step appends what is new in {step.reads!r}, but {problem}: give the step a 'key' (then rows are "
            "upserted), mode 'overwrite', or a new table in 'into'"
        )
    context.progress(0.0, f"{problem}: working on all rows")
    return _read(step, look, context)


def _news(step: Step, look: Look, context: Context) -> tuple[str | None, dict[str, str] | None]:
    """Why what is new cannot be told, if so, and the options of a read of it; None if it is nothing."""
    since = look.seen["version"]
    if _is_another(step, look, context):
        return "it was dropped and made anew", None
    dataset = TableSpec.of(context.namespace, str(step.reads)).open(look.now["version"])
    try:
        if step.mode == "upsert":
            return None, _changed(dataset, since)
        found = any(increments(parse(_options(step, context)), dataset, since, dataset.version))
        return None, {"since_version": str(since)} if found else None
    except UnsupportedOperationError:
        return f"rows there were changed or removed since version {since}", None
    except InvalidTableStateError:
        return f"its versions since {since}, which would tell, were cleaned up", None


def _changed(dataset: lance.LanceDataset, since: int) -> dict[str, str] | None:
    """Rows that were changed are new to a step that upserts: what it makes of them replaces what it made before.

    They are read as they are now, so that a key that was changed twice is there once.
    """
    fragments = changed_fragments(dataset, since, dataset.version)
    return {"fragments": ",".join(map(str, sorted(fragments)))} if fragments else None


def _is_another(step: Step, look: Look, context: Context) -> bool:
    """Whether the table is not the one that was seen; if that version is gone, nobody knows."""
    then, now = int(look.seen["version"]), int(look.now["version"])
    if now < then:
        return True
    try:
        dataset = TableSpec.of(context.namespace, str(step.reads)).open(then)
    except TableVersionNotFoundError:
        return False
    return bool(_time(dataset) != look.seen["at"])


def _read(step: Step, look: Look, context: Context, **options: str) -> DataFrame:
    reader = context.spark().read.format(NAME).options(**_options(step, context))
    return reader.options(version=str(look.now["version"]), **options).load()


def _options(step: Step, context: Context) -> dict[str, str]:
    backend, properties = context.namespace.connection_args()
    return {"namespace": backend, "table": str(step.reads), **properties}


def _time(dataset: lance.LanceDataset) -> float:
    return float(dataset.get_version()["timestamp"].timestamp())
