"""Jobs that were started by any process: list, describe, cancel, wait."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from lancespace.authoring import translated
from lancespace_cli.authoring import Latest, Transaction, follow, state_of
from lancespace_jobs._new_tables import records_of

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.authoring import JobStatus

JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]
app = typer.Typer(help="Jobs of the catalog, whichever process runs them.", no_args_is_help=True, add_completion=False)


@app.command("list")
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
    state.output.table(titles, [_row(status) for status in _latest(state.namespace, limit)])


@app.command()
def describe(context: typer.Context, job: JobId) -> None:
    """Tell how a job is doing.

    Example: lancespace jobs describe 0199f2ab…
    """
    state = state_of(context)
    found = state.namespace.describe_transaction([job])
    state.output.record({"status": found.status, **(found.properties or {})})


@app.command()
def cancel(context: typer.Context, job: JobId) -> None:
    """Have a job stop at its next safe point; what it was working on stays whole.

    Example: lancespace jobs cancel 0199f2ab…
    """
    state = state_of(context)
    followed = Transaction(state.namespace, job)
    followed.cancel()
    now = followed.status()
    state.output.done(f"{job}: {now.state.value} ({now.message})", job_id=job, status=now.state.value)


@app.command()
def wait(context: typer.Context, job: JobId) -> None:
    """Wait for the end of a job, with a bar; Ctrl-C cancels it.

    Example: lancespace jobs wait 0199f2ab…
    """
    state = state_of(context)
    last = follow(state.output, Transaction(state.namespace, job), f"job {job}")
    state.output.done(f"{job}: {last.message}", job_id=job, status=last.state.value, rows=last.rows)


def _latest(namespace: Namespace, limit: int) -> list[JobStatus]:
    """The records, the latest first.

    Raises:
        UnsupportedOperationError: If the backend has no place for records.
    """
    from lance_namespace import UnsupportedOperationError

    records = records_of(namespace)
    if records is None:
        raise UnsupportedOperationError(
            f"{namespace.namespace_id()} keeps no records of jobs that could be listed: ask for one by its id."
        )
    with translated("list jobs"):
        found = map(records.load, records.latest(limit))
        return [status for status in found if status is not None]


def _row(status: JobStatus) -> tuple[str, ...]:
    created = datetime.fromtimestamp(status.created_at, timezone.utc).isoformat(timespec="seconds")
    done = f"{status.fraction:.0%}"
    return status.job_id, status.kind, status.about, status.state.value, done, created, status.message
