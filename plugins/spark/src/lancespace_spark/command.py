"""``lancespace pipeline``: the commands that lancespace-cli finds in this package."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lancespace_cli.state import state_of

if TYPE_CHECKING:
    from lancespace_cli.output import Output
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
