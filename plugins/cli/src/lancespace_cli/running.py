"""What every command does that runs a job: submit it, and follow it or leave it in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli import detaching
from lancespace_cli.following import EngineJob, Followed, Look, follow
from lancespace_cli.values import counted

if TYPE_CHECKING:
    from lancespace.jobs import SubmittedJob
    from lancespace_cli.state import State

NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Print the job's id at once; the job goes on in the background.")
]


def run_job(
    state: State, title: str, submit: Callable[[], SubmittedJob], *, no_wait: bool = False, noun: str = "row"
) -> None:
    """Run a job of this process's engine."""
    run(state, title, lambda: EngineJob(submit()), no_wait=no_wait, noun=noun)


def run(state: State, title: str, submit: Callable[[], Followed], *, no_wait: bool = False, noun: str = "row") -> None:
    """Run a job, and say what came of it; ``noun`` is what it counts."""
    if no_wait and not detaching.is_detached():
        job_id = detaching.run_detached()
        return state.output.json({"job_id": job_id}) if state.output.as_json else state.output.lines([job_id])
    job = submit()
    if detaching.is_detached():
        detaching.tell(job.id)
    last = follow(state.output, job, title, noun)
    return state.output.done(f"{title}: {_summary(last, noun)}", job_id=job.id, **_fields(last))


def _summary(last: Look, noun: str) -> str:
    return "done" if last.rows is None else counted(last.rows, noun)


def _fields(last: Look) -> dict[str, Any]:
    return {"status": last.state.value, "rows": last.rows}
