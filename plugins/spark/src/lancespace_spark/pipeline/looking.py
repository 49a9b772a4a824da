"""Whether there is something to do for a step, and whether it may be done: nothing is appended twice unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace_spark.pipeline import ingesting, steps
from lancespace_spark.pipeline.context import Context, Look

if TYPE_CHECKING:
    from lancespace_spark.pipeline.model import Step
    from lancespace_spark.pipeline.state import Entry, PipelineState

FIRST, NEW, CHANGED, CURRENT, REFRESH = "first run", "new data", "changed", "up to date", "refresh"


def look(step: Step, state: PipelineState, context: Context) -> Look:
    """What a step has before it.

    Raises:
        InvalidInputError: If it would append rows that may be there already.
    """
    if step.kind == "view":  # It knows by itself what is new, and does nothing if nothing is.
        return Look(REFRESH)
    now, mark, entry = steps.sights(step, context), state.mark(step), _known(step, state, context)
    if entry is None:
        _refuse_rows_of_others(step, state, context)
        return Look(FIRST, now=now, mark=mark)
    if entry.step != mark and not (step.kind == "ingest" and step.appends):
        _refuse_an_edit(step)
        return Look(CHANGED, now=now, mark=mark, is_changed=True)
    if entry.began is not None and step.appends:
        then = now if step.kind == "ingest" else entry.began["source"]
        return Look(FIRST if entry.seen is None else NEW, entry.seen, then, entry.began, mark)
    return Look(CURRENT if _is_current(step, entry.seen, now) else NEW, entry.seen, now, mark=mark)


def _known(step: Step, state: PipelineState, context: Context) -> Entry | None:
    """What is remembered of the step, unless it fills another table now, or that is gone and to be filled anew."""
    entry = state.entry(step)
    if entry is None or entry.into != step.writes:
        return None
    if "into" in step.fields and context.latest(step.writes) is None:
        return None
    never_succeeded = entry.seen is None and entry.step != state.mark(step)
    return None if never_succeeded and step.kind == "transform" else entry


def _is_current(step: Step, seen: Any, now: Any) -> bool:
    return ingesting.is_current(seen, now) if step.kind == "ingest" else bool(seen == now)


def _refuse_rows_of_others(step: Step, state: PipelineState, context: Context) -> None:
    """Rows that nobody remembers may be those that the step is about to append; other steps' rows are known."""
    others = (state.entry(other) for other in context.pipeline.steps if other is not step)
    if not step.appends or any(one is not None and one.into == step.writes for one in others):
        return
    rows = context.count(step.writes)
    if rows:
        raise InvalidInputError(
            f"the step appends to {step.writes!r}, which has {rows} rows that this pipeline does not remember: they "
            "may be the same ones. If the file or the step was renamed, give it its old 'name'; otherwise give the "
            "step mode 'overwrite', a new table in 'into' or, if it is a transform, a 'key'"
        )


def _refuse_an_edit(step: Step) -> None:
    if step.appends:
        raise InvalidInputError(
            f"the step was edited since it last ran, and what it appended to {step.writes!r} then would stay beside "
            "what it makes now: give it mode 'overwrite', a 'key', or a new table in 'into'"
        )
