"""What the kinds of steps do. Each tells what there is to see, and works on what it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, NamespaceAlreadyExistsError

from lancespace.authoring import identifiers
from lancespace_spark.pipeline import ingesting, upkeep
from lancespace_spark.pipeline.context import Context, Done, Look

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_spark.pipeline.model import Step

UPKEEP: dict[str, Callable[[Step, Look, Context], int]] = {
    "index": upkeep.index,
    "view": upkeep.view,
    "compact": upkeep.compact,
    "clean_up": upkeep.clean_up,
}


def sights(step: Step, context: Context) -> Any:
    """What there is to see for a step now: versions, or files. If it is what it saw last time, it has nothing to do."""
    from lancespace_spark.pipeline.sources import sight

    if step.kind == "ingest":
        return ingesting.find(step, context)
    return None if step.reads is None else sight(step.reads, context)


def perform(step: Step, look: Look, context: Context) -> Done:
    """Do the step on what it has not seen."""
    _need_namespace(context.namespace, step.writes)
    if step.kind == "ingest":
        return ingesting.ingest(step, look, context)
    if step.kind == "transform":
        from lancespace_spark.pipeline.transforming import transform

        return transform(step, look, context)
    rows = UPKEEP[step.kind](step, look, context)
    return Done(rows, sights(step, context))


def _need_namespace(namespace: Namespace, table: str) -> None:
    """Create the namespaces that a table is to be in."""
    parents = identifiers.parse(table)[:-1]
    for depth in range(1, len(parents) + 1):
        try:
            namespace.create_namespace(parents[:depth], mode="exist_ok")
        except NamespaceAlreadyExistsError as error:
            raise InvalidInputError(f"{'.'.join(parents[:depth])!r} is a table: nothing can be in it") from error
