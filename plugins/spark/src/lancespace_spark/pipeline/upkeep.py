"""The steps that make nothing new of rows: indexes, views, compaction and clean-up."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, TableIndexAlreadyExistsError

import lancespace_jobs as jobs
from lancespace_jobs import SubmittedJob, TableSpec
from lancespace_tables import DEFINITION
from lancespace_views import query_view, stored

if TYPE_CHECKING:
    from lancespace_spark.pipeline.context import Context, Look
    from lancespace_spark.pipeline.model import Step


def index(step: Step, look: Look, context: Context) -> int:
    """Build the index, or have it take in new rows; one that the file has changed is built anew."""
    try:
        return context.wait(_build(step, context))
    except TableIndexAlreadyExistsError:
        name = str(step.get("index") or f"{step.get('column')}_idx")
    if look.is_changed:
        context.namespace.drop_table_index(step.writes, index_name=name)
        return context.wait(_build(step, context))
    context.progress(0.0, "taking in new rows")
    TableSpec.of(context.namespace, step.writes).open().optimize.optimize_indices()
    return 0


def _build(step: Step, context: Context) -> SubmittedJob:
    options: dict[str, Any] = dict(step.get("options") or {})
    if step.get("index"):
        options["name"] = step.get("index")
    return jobs.build_index(context.namespace, step.writes, str(step.get("column")), str(step.get("type")), **options)


def view(step: Step, look: Look, context: Context) -> int:
    """Create the view if it is not there, and refresh it, which does nothing if nothing is new."""
    del look
    if context.namespace.table(step.writes).exists():
        _refuse_another(step, context)
    else:
        schema = context.namespace.sql(step.get("sql")).schema
        context.namespace.create_materialized_view(
            step.writes, **query_view(step.get("sql"), schema), with_no_data=True
        )
    refreshed = context.namespace.refresh_materialized_view(step.writes)
    return context.wait(SubmittedJob(context.namespace, refreshed.job_id))


def _refuse_another(step: Step, context: Context) -> None:
    latest = context.latest(step.writes)
    known = latest.metadata if latest is not None else {}
    if DEFINITION not in known:
        raise InvalidInputError(f"'view': {step.writes!r} is a table and no view: give the view another name")
    if stored(known, step.writes).sql != step.get("sql"):
        raise InvalidInputError(
            f"'sql': the view {step.writes!r} was made with another query: drop it (lancespace drop {step.writes}) to "
            "have it made anew, or give it another name in 'view'"
        )


def compact(step: Step, look: Look, context: Context) -> int:
    """Merge small fragments."""
    del look
    options = {name: step.get(name) for name in ("target_rows_per_fragment",) if step.get(name)}
    return context.wait(jobs.compact(context.namespace, step.writes, **options))


def clean_up(step: Step, look: Look, context: Context) -> int:
    """Remove old versions."""
    del look
    days = float(step.get("older_than_days", 7))
    return context.wait(jobs.clean_up(context.namespace, step.writes, older_than=timedelta(days=days)))
