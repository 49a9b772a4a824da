"""Jobs that were started, by whoever: list, describe, cancel, wait."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from lancespace_cli.following import Transaction, follow
from lancespace_cli.options import Latest
from lancespace_cli.records import latest
from lancespace_cli.state import state_of

if TYPE_CHECKING:
    from lancespace.engines import JobStatus

JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    jobs = typer.Typer(help="Jobs of the catalog, whoever runs them.", no_args_is_help=True)
    jobs.command("list")(list_jobs)
    for command in (describe, cancel, wait):
        jobs.command()(command)
    app.add_typer(jobs, name="jobs")


def list_jobs(
    context: typer.Context,
    *,
    limit: Latest = 20,
) -> None:
    """List the jobs that the catalog has records of, the latest first.

    Example: lancespace jobs list
    """
    state = state_of(context)
    titles = ("job", "kind", "about", "status", "done", "created", "message")
    state.output.table(titles, [_row(status) for status in latest(state.namespace, limit)])


def describe(context: typer.Context, job: JobId) -> None:
    """Tell how a job is doing.

    Example: lancespace jobs describe 0199f2ab…
    """
    state = state_of(context)
    found = state.namespace.describe_transaction([job])
    state.output.record({"status": found.status, **(found.properties or {})})


def cancel(context: typer.Context, job: JobId) -> None:
    """Have a job stop at its next safe point; what it was working on stays whole.

    Example: lancespace jobs cancel 0199f2ab…
    """
    state = state_of(context)
    followed = Transaction(state.namespace, job)
    followed.cancel()
    now = followed.look()
    state.output.done(f"{job}: {now.state.value} ({now.message})", job_id=job, status=now.state.value)


def wait(context: typer.Context, job: JobId) -> None:
    """Wait for the end of a job, with a bar; Ctrl-C cancels it.

    Example: lancespace jobs wait 0199f2ab…
    """
    state = state_of(context)
    last = follow(state.output, Transaction(state.namespace, job), f"job {job}")
    state.output.done(f"{job}: {last.message}", job_id=job, status=last.state.value, rows=last.rows)


def _row(status: JobStatus) -> tuple[str, ...]:
    created = datetime.fromtimestamp(status.created_at, timezone.utc).isoformat(timespec="seconds")
    done = f"{status.fraction:.0%}"
    return status.job_id, status.kind, status.about, status.state.value, done, created, status.message
