"""Planning and running a pipeline: step by step, each only on what is new, from the one that failed last time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lancespace import connect
from lancespace_spark.failures import cause
from lancespace_spark.pipeline import steps
from lancespace_spark.pipeline.context import Context
from lancespace_spark.pipeline.locking import locked
from lancespace_spark.pipeline.looking import CURRENT, look
from lancespace_spark.pipeline.state import PipelineState, files_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace_spark.pipeline.model import Pipeline, Step


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
    with _connected(pipeline) as context:
        state = PipelineState(context.files, pipeline)
        return [Planned(step, _look(step, state, context)) for step in pipeline.steps]


def run(pipeline: Pipeline, watcher: Watcher = lambda *_: None) -> Iterator[Outcome]:
    """Run the steps one after the other, and tell of each when it is over.

    A step that fails raises, and those before it have succeeded and are remembered: the next run begins with it.

    Raises:
        ConcurrentModificationError: If another run of the pipeline is under way.
    """
    with _connected(pipeline) as shared, locked(shared.files, pipeline.name) as lock:
        state = PipelineState(shared.files, pipeline)
        for step in pipeline.steps:
            lock.check()
            begin = functools.partial(state.begins, step)
            context = replace(shared, progress=functools.partial(watcher, step), begin=begin)
            with _blaming(pipeline, step):
                outcome = _run_step(step, state, context)
            yield outcome


def _run_step(step: Step, state: PipelineState, context: Context) -> Outcome:
    """Do what there is to do; after what a former run had begun, that is what has come since."""
    started = time.perf_counter()
    found = first = look(step, state, context)
    rows = 0
    while found.state != CURRENT:
        done = steps.perform(step, found, context)
        state.succeeded(step, done.seen)
        rows += done.rows
        if found.began is None:
            break
        found = look(step, state, context)
    return Outcome(step, first.state, rows, time.perf_counter() - started)


def _look(step: Step, state: PipelineState, context: Context) -> str:
    with _blaming(context.pipeline, step):
        return look(step, state, context).state


@contextmanager
def _blaming(pipeline: Pipeline, step: Step) -> Iterator[None]:
    """Have an error say which step it comes from, in one line."""
    try:
        yield
    except Exception as error:
        found = cause(error)
        raise type(found)(f"{pipeline.name}: step {step.name}: {found}") from error


@contextmanager
def _connected(pipeline: Pipeline) -> Iterator[Context]:
    """The catalog, whose jobs run on the Spark of the pipeline unless the file names another engine."""
    properties = {"engine": "spark", **pipeline.properties}
    if properties["engine"] == "spark":
        properties |= pipeline.spark
    with connect(pipeline.backend, properties) as namespace:
        spark = functools.cache(functools.partial(_session, pipeline))
        yield Context(pipeline, namespace, files_of(namespace, pipeline), spark)


def _session(pipeline: Pipeline) -> SparkSession:
    from lancespace_spark.sessions import session

    return session(pipeline.spark)
