"""A job that was submitted: its status, and waiting for its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from lance_namespace import InternalError

from lancespace import Namespace
from lancespace.authoring import Job, JobState, JobStatus

_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class JobFailedError(InternalError):
    """A job that was waited for failed or was cancelled; the message is the job's."""


class SubmittedJob:
    """Follows one job of a namespace's engine."""

    def __init__(self, namespace: Namespace, job_id: str) -> None:
        self._namespace = namespace
        self.id = job_id

    def __repr__(self) -> str:
        return f"<job {self.id}>"

    def status(self) -> JobStatus:
        """How it is doing now."""
        connection = self._namespace.backend.connection
        connection.use_engine()
        status: JobStatus | None = connection.hooks.describe_job(job_id=self.id)
        if status is None:
            raise JobFailedError(f"the engine does not know the job {self.id}")
        return status

    def cancel(self) -> None:
        """Ask it to stop at its next safe point."""
        connection = self._namespace.backend.connection
        connection.use_engine()
        connection.hooks.cancel_job(job_id=self.id)

    def wait(self, progress: Callable[[JobStatus], None] | None = None) -> JobStatus:
        """Wait for its end; ``progress`` is called with each status on the way.

        Raises:
            JobFailedError: If it does not succeed.
        """
        pause = _PAUSE
        while True:
            status = self.status()
            if progress is not None:
                progress(status)
            if status.state.is_final:
                break
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if status.state is not JobState.SUCCEEDED:
            raise JobFailedError(f"the job {self.id} ({status.kind} of {status.about}): {status.message}")
        return status


def submit(namespace: Namespace, job: Job) -> SubmittedJob:
    """Hand a job to the engine of a namespace's connection."""
    connection = namespace.backend.connection
    connection.use_engine()
    return SubmittedJob(namespace, connection.hooks.submit_job(job=job))
