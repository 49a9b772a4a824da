"""Planning and running a pipeline: step by step, each only on what is new, from the one that failed last time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lancespace import connect
from lancespace_spark.pipeline import steps
from lancespace_spark.pipeline.state import PipelineState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace
    from lancespace_spark.pipeline.model import Pipeline, Step

FIRST, NEW, CURRENT, REFRESH = "first run", "new data", "up to date", "refresh"


@dataclass(frozen=True)
class Planned:
    """What a run would do with a step, as things are now; earlier steps may still change that."""

    step: Step
    state: str


@dataclass(frozen=True)
class Outcome:
    """What a run did with a step."""

    step: Step
    state: str
    rows: int = 0
    seconds: float = 0.0


Watcher = Callable[["Step", float, str], None]
"""Hears how far the running step is."""


def plan(pipeline: Pipeline) -> list[Planned]:
    """What a run would do; nothing is changed."""
    with _connected(pipeline) as namespace:
        state = PipelineState(namespace, pipeline)
        context = steps.Context(pipeline, namespace, functools.partial(_session, pipeline), lambda *_: None)
        return [Planned(step, _look(step, state, context)[0]) for step in pipeline.steps]


def run(pipeline: Pipeline, watcher: Watcher = lambda *_: None) -> Iterator[Outcome]:
    """Run the steps one after the other, and tell of each when it is over.

    A step that fails raises, and those before it have succeeded and are remembered: the next run begins with it.
    """
    with _connected(pipeline) as namespace:
        state = PipelineState(namespace, pipeline)
        spark = functools.cache(functools.partial(_session, pipeline))
        for step in pipeline.steps:
            context = steps.Context(pipeline, namespace, spark, functools.partial(watcher, step))
            yield _run_step(step, state, context)


def _run_step(step: Step, state: PipelineState, context: steps.Context) -> Outcome:
    started = time.perf_counter()
    what, seen, now = _look(step, state, context)
    if what == CURRENT:
        return Outcome(step, what)
    rows = steps.perform(step, seen, now, context)
    works_on_itself = step.reads is not None and step.reads == step.writes
    state.succeeded(step, steps.sights(step, context) if works_on_itself else now)
    return Outcome(step, what, rows, time.perf_counter() - started)


def _look(step: Step, state: PipelineState, context: steps.Context) -> tuple[str, object, object]:
    """Whether there is something to do, and what the step has seen and would see now."""
    seen, now = state.seen(step), steps.sights(step, context)
    if step.kind == "view":  # It knows by itself what is new, and does nothing if nothing is.
        return REFRESH, None, None
    if seen is None:
        return FIRST, None, now
    return (CURRENT if seen == now else NEW), seen, now


def _session(pipeline: Pipeline) -> SparkSession:
    from lancespace_spark.sessions import session

    return session(pipeline.spark)


@contextmanager
def _connected(pipeline: Pipeline) -> Iterator[Namespace]:
    with connect(pipeline.backend, pipeline.properties) as namespace:
        yield namespace
