"""The embedded engine: jobs run in threads of this process."""

from __future__ import annotations

import contextvars
import functools
import logging
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from lancespace.authoring import Connection, Job, JobStatus, Result, Task, hookimpl
from lancespace_jobs._job_files import MemoryFiles, StoredFiles
from lancespace_jobs._records import Edit, JobRecords
from lancespace_jobs._runner import RunningJob, in_threads

_log = logging.getLogger(__name__)

_WORKERS = 2
"""How many jobs run at once; the others wait."""
_KEPT = 1000
"""How many jobs a catalog keeps records of."""
_TICK = 1.0
"""Seconds between two looks at the jobs: a record is written no more often."""


class LocalEngine:
    """Runs jobs in a few threads. An engine that computes elsewhere overrides :meth:`compute`.

    Records are kept where the backend says (``job_storage``), or in memory if it has no place for them.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="lancespace-job")
        self._lock = threading.Lock()
        self._running: dict[str, RunningJob] = {}
        self._ticker: threading.Thread | None = None
        self._is_closing = threading.Event()

    @hookimpl
    def submit_job(self, job: Job) -> str:
        """Queue the job; its record is there before its id is known to anybody."""
        self._records.prune(_KEPT)
        running = RunningJob(job, self._records, self.compute)
        running.write()
        job_id = running.status.job_id
        with self._lock:
            self._running[job_id] = running
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, name="lancespace-heartbeat", daemon=True)
                self._ticker.start()
        self._pool.submit(contextvars.copy_context().run, running.run)  # It acts as the principal that started it.
        return job_id

    @hookimpl
    def describe_job(self, job_id: str) -> JobStatus | None:
        """The job as it is now, or as its owner last wrote it."""
        running = self._running.get(job_id)
        if running is None:
            return self._records.load(job_id)
        return replace(running.status, properties=self._records.properties(job_id))

    @hookimpl
    def cancel_job(self, job_id: str) -> JobStatus | None:
        """Have the job stop at its next safe point; one that is over stays as it is."""
        status = self.describe_job(job_id)
        if status is None or status.state.is_final:
            return status
        running = self._running.get(job_id)
        if running is None:
            self._records.ask_to_cancel(job_id)
        else:
            running.stop()
        return status

    @hookimpl
    def edit_job(self, job_id: str, edit: Edit) -> JobStatus | None:
        """Let ``edit`` change the properties that are kept with the job."""
        if self.describe_job(job_id) is None:
            return None
        self._records.edit_properties(job_id, edit)
        return self.describe_job(job_id)

    @hookimpl
    def close(self) -> None:
        """Stop all jobs at their next safe point and wait for that."""
        with self._lock:
            running = dict(self._running)
        for job in running.values():
            job.stop()
        self._pool.shutdown(wait=True)
        self._is_closing.set()
        for job_id, job in running.items():
            self._beat(job_id, job)

    @functools.cached_property
    def _records(self) -> JobRecords:
        """Found on first use: the connection is still being put together when an engine is built."""
        storage = self._connection.backend.job_storage()
        return JobRecords(MemoryFiles() if storage is None else StoredFiles(storage))

    def compute(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], concurrency: int | None
    ) -> Generator[tuple[Task, Result], None, None]:
        """Where tasks run: here, in threads of this process; see :func:`lancespace_jobs._runner.in_threads`."""
        return in_threads(function, tasks, concurrency)

    def _tick(self) -> None:
        """Keep the records of this engine's jobs fresh, as long as there are any."""
        while not self._is_closing.wait(_TICK):
            for job_id, job in list(self._running.items()):
                self._beat(job_id, job)
            with self._lock:
                if not self._running:
                    self._ticker = None
                    return

    def _beat(self, job_id: str, job: RunningJob) -> None:
        try:
            job.beat()
        except Exception:  # noqa: BLE001 - the store may be out of reach for a while; the job goes on
            _log.warning("The record of the job %s could not be written or read", job_id, exc_info=True)
        if job.is_settled:
            with self._lock:
                self._running.pop(job_id, None)
