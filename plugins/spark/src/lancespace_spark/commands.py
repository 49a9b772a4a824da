"""The commands that this package adds to ``lancespace``: pipeline and job import-spark, and a check of doctor."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lancespace_jobs as jobs
from lancespace_cli.authoring import NoWait, Table, run_job, state_of

if TYPE_CHECKING:
    from lancespace_cli.authoring import Output
    from lancespace_spark.pipeline import Outcome, Step

app = typer.Typer(
    help="Run pipelines: files that say how tables come from others.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(help="The pipeline, a TOML or YAML file.", exists=True, dir_okay=False)]


OF_CATALOGS = {"root": "--root", "profile": "--profile", "backend": "--backend", "given": "--property"}
"""Options that name a catalog, which a pipeline's file does."""

QUIET = {"spark.log.level": "OFF"}
"""Of a task that fails, or that Ctrl-C ends, Spark logs pages, where the command has a line."""


@app.callback()
def check_options(context: typer.Context) -> None:
    """Refuse to pass over an option, and keep traces out of the terminal: errors are told once, in a line."""
    logging.getLogger().addHandler(logging.NullHandler())  # Py4J has Ctrl-C logged there.
    given = context.find_root().params
    named = [option for name, option in OF_CATALOGS.items() if given.get(name)]
    if named:
        raise typer.BadParameter(f"{named[0]} does not apply to pipelines: [catalog] in the file names the catalog.")


@app.command("plan")
def show_plan(context: typer.Context, file: File) -> None:
    """Show what a run would do, and change nothing."""
    from lancespace_spark.pipeline import load, plan

    rows = [(one.step.name, one.step.kind, one.step.reads, one.step.writes, one.state) for one in plan(load(file))]
    state_of(context).output.table(("step", "kind", "reads", "writes", "state"), rows)


@app.command("run")
def run_pipeline(context: typer.Context, file: File) -> None:
    """Show the plan, then run it; after a failure, run it again to go on with the step that failed."""
    from lancespace_spark.pipeline import load

    output = state_of(context).output
    if not output.as_json:
        show_plan(context, file)
    pipeline = load(file)
    outcomes = _run(output, replace(pipeline, spark={**QUIET, **pipeline.spark}))
    columns = ("step", "state", "rows", "seconds")
    output.table(columns, [(one.step.name, one.state, one.rows, round(one.seconds, 2)) for one in outcomes])


def _run(output: Output, pipeline: object) -> list[Outcome]:
    from lancespace_spark.pipeline import Pipeline, run

    assert isinstance(pipeline, Pipeline)  # noqa: S101 - the type is imported here, not at start-up
    outcomes: list[Outcome] = []
    with output.progress() as progress:
        bar = progress.add_task(pipeline.name, total=len(pipeline.steps), rows="")

        def watch(step: Step, fraction: float, message: str) -> None:
            done = len(outcomes) + fraction
            progress.update(bar, completed=done, description=step.name, rows=message)

        try:
            for outcome in run(pipeline, watch):
                outcomes.append(outcome)
                progress.update(bar, completed=len(outcomes), description=outcome.step.name, rows="")
        except KeyboardInterrupt:
            step = pipeline.steps[len(outcomes)].name
            output.remark(f"Interrupted in step {step}: run the pipeline again to go on with it.")
            raise
    return outcomes


def import_spark(
    context: typer.Context,
    name: Table,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A table or view that Spark knows.")],
    *,
    query: Annotated[bool, typer.Option("--query", help="SOURCE is a query in Spark's SQL.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the rows that are there. Asks first.")
    ] = False,
    vectors: Annotated[
        str | None, typer.Option(metavar="COLUMN:LENGTH,...", help="Arrays that are vectors in a new table.")
    ] = None,
    no_wait: NoWait = False,
) -> None:
    """Import what Spark reads, in one commit; a table that is not there is created.

    Example: lancespace job import-spark sales.orders "SELECT * FROM parquet.`january/`" --query
    """
    from lancespace_spark import import_table
    from lancespace_spark.options import sizes

    state = state_of(context)
    lengths = None if vectors is None else sizes(vectors)
    if overwrite and state.namespace.table(name).exists():
        state.confirm(f"Replace all rows of {name}?")
    given: dict[str, Any] = {"query" if query else "source": source, "vectors": lengths}
    with jobs.leaving_no_trace(state.namespace, name) as trace:
        mode = "overwrite" if overwrite else "append"
        submit = lambda: trace.of(import_table(state.namespace, name, mode=mode, **given))  # noqa: E731
        run_job(state, f"import into {name}", submit, no_wait=no_wait)


def check_java() -> str:
    """The Java that local Spark would run on, for ``lancespace doctor``."""
    from lancespace_spark.java import find_java

    java = find_java()
    return f"{java.version}: {java.program}"
