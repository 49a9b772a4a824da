"""The embedded engine: jobs run in threads of this process."""

from __future__ import annotations

import logging
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from lancespace.engines import Job, JobCanceled, JobState, JobStatus
from lancespace.hookspecs import hookimpl

if TYPE_CHECKING:
    from lancespace.connection import Connection

_log = logging.getLogger(__name__)

_WORKERS = 2
_KEPT = 1000
"""How many finished jobs are remembered."""


class LocalEngine:
    """Runs jobs in a few threads and remembers how they ended."""

    def __init__(self, connection: Connection) -> None:  # noqa: ARG002 - what every engine is given
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="lancespace-job")
        self._lock = threading.Lock()
        self._jobs: dict[str, JobStatus] = {}
        self._cancelled: set[str] = set()

    @hookimpl
    def submit_job(self, job: Job) -> str:
        """Queue the job."""
        job_id = uuid.uuid4().hex
        with self._lock:
            self._forget_oldest()
            self._jobs[job_id] = JobStatus(job_id, job.kind, JobState.QUEUED)
        self._pool.submit(self._run, job_id, job)
        return job_id

    @hookimpl
    def describe_job(self, job_id: str) -> JobStatus | None:
        """The job as it is now."""
        with self._lock:
            return self._jobs.get(job_id)

    @hookimpl
    def cancel_job(self, job_id: str) -> JobStatus | None:
        """Have the job stop at its next report; one that is over stays as it is."""
        with self._lock:
            status = self._jobs.get(job_id)
            if status is not None and not status.state.is_final:
                self._cancelled.add(job_id)
            return status

    @hookimpl
    def close(self) -> None:
        """Stop all jobs at their next safe point and wait for that."""
        with self._lock:
            self._cancelled.update(job_id for job_id, status in self._jobs.items() if not status.state.is_final)
        self._pool.shutdown(wait=True)

    def _run(self, job_id: str, job: Job) -> None:
        try:
            self._report(job_id, 0.0, "started")
            job.run(lambda fraction, message: self._report(job_id, fraction, message))
            self._update(job_id, JobState.SUCCEEDED, 1.0, "done")
        except JobCanceled:
            self._update(job_id, JobState.CANCELED, None, "cancelled")
        except Exception as error:  # noqa: BLE001 - whatever a job raises is its outcome
            _log.warning("The job %s (%s) failed", job_id, job.kind, exc_info=True)
            self._update(job_id, JobState.FAILED, None, f"{type(error).__name__}: {error}")

    def _report(self, job_id: str, fraction: float, message: str) -> None:
        if job_id in self._cancelled:
            raise JobCanceled
        self._update(job_id, JobState.RUNNING, min(max(fraction, 0.0), 1.0), message)

    def _update(self, job_id: str, state: JobState, fraction: float | None, message: str) -> None:
        with self._lock:
            old = self._jobs[job_id]
            done = old.fraction if fraction is None else fraction
            self._jobs[job_id] = replace(old, state=state, fraction=done, message=message)

    def _forget_oldest(self) -> None:
        finished = [job_id for job_id, status in self._jobs.items() if status.state.is_final]
        for job_id in finished[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[job_id]
            self._cancelled.discard(job_id)
