"""A job while it runs: what its owner knows of it, and the work that it is given."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice, takewhile
from typing import Any

from lancespace.authoring import PRINCIPAL, Job, JobCanceled, JobState, JobStatus, Result, Task, is_panic, translate
from lancespace_jobs._records import JobRecords, new_job_id

_log = logging.getLogger(__name__)

STOPPING = "to be cancelled: it stops at its next safe point"


Compute = Callable[[Callable[[Any], Any], Iterable[Any], "int | None"], Generator[tuple[Any, Any], None, None]]
"""Where an engine computes: runs a function over tasks, as :func:`in_threads` does, and gives results as they come."""


class RunningJob:
    """Runs one job and keeps its record; it is the :class:`~lancespace._engines.Work` of that job."""

    def __init__(self, job: Job, records: JobRecords, compute: Compute) -> None:
        self._job = job
        self._records = records
        self._compute = compute
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._is_to_stop = threading.Event()
        now = time.time()
        owner = f"{socket.gethostname()}:{os.getpid()}"
        who = PRINCIPAL.get()
        creator = "" if who is None else who.name
        self._status = JobStatus(
            new_job_id(), job.kind, job.about, created_at=now, updated_at=now, owner=owner, creator=creator
        )
        self._written: JobStatus | None = None
        self._first = self._status.job_id
        self._is_beside = False

    @property
    def mark(self) -> str:
        """See :attr:`lancespace._engines.Work.mark`."""
        return f"{self._job.fingerprint or self._job.kind}-{self._first}"

    @property
    def is_repeat(self) -> bool:
        """See :attr:`lancespace._engines.Work.is_repeat`."""
        return self._first != self._status.job_id

    @property
    def status(self) -> JobStatus:
        """The job as it is now, without the properties that others set."""
        with self._lock:
            return self._status

    def stop(self) -> None:
        """Have it stop at its next safe point."""
        self._is_to_stop.set()
        with self._lock:
            if not self._status.state.is_final:
                self._status = replace(self._status, message=STOPPING)

    def run(self) -> None:
        """Run it to its end, whichever that is."""
        try:
            self._update(state=JobState.RUNNING, started_at=time.time())
            self.report(0.0, "started")
            self._claim()
            self._job.run(self)
            self._end(JobState.SUCCEEDED, "done", fraction=1.0)
        except JobCanceled:
            self._end(JobState.CANCELED, "cancelled: send the request again to go on from what was finished")
        except BaseException as error:  # noqa: BLE001 - whatever a job raises is its outcome, also sys.exit
            _log.warning("The job %s (%s) failed", self.status.job_id, self._job.kind, exc_info=True)
            shown = translate(error) if is_panic(error) else error
            self._end(JobState.FAILED, f"{type(shown).__name__}: {shown}")

    def report(self, fraction: float, message: str, rows: int | None = None) -> None:
        """See :meth:`lancespace._engines.Work.report`."""
        if self._is_to_stop.is_set():
            raise JobCanceled
        counted = {} if rows is None else {"rows": rows}
        self._update(fraction=min(max(fraction, 0.0), 1.0), message=message, **counted)

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        key: Callable[[Task], str],
        is_there: Callable[[Result], bool] | None = None,
        concurrency: int | None = None,
        on_driver: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        """See :meth:`lancespace._engines.Work.map`."""
        kept = self._records.checkpoints(self._job.fingerprint, self._first) if self._job.fingerprint else {}
        found, missing = [], []
        for task in tasks:
            result = kept.get(key(task))
            if result is None or not (is_there is None or is_there(result)):
                missing.append(task)
            else:
                found.append((task, result))
        start = self.status.fraction
        compute = in_threads if on_driver else self._compute
        with closing(compute(function, self._until_stopped(missing), concurrency)) as computed:
            results = self._kept(computed, key)
            try:
                for done, (task, result) in enumerate(chain(found, results), 1):
                    self.report(start + (1.0 - start) * done / len(tasks), self.status.message)
                    yield task, result
            finally:
                if self._is_to_stop.is_set():
                    self._finish(results)
        if self._is_to_stop.is_set():
            raise JobCanceled

    def beat(self) -> None:
        """Write the record if there is something to tell, and check whether the job was asked to stop."""
        if not self._is_to_stop.is_set() and self._records.is_to_cancel(self.status.job_id):
            self.stop()
        self.write()

    def write(self) -> None:
        """Write the record, unless it tells the same as the last one and that is recent."""
        with self._writing:
            status = self.status
            is_recent = status.state.is_final or time.time() - status.updated_at < self._records.heartbeat
            if status == self._written and is_recent:
                return
            if not status.state.is_final:
                status = self._update(updated_at=time.time())
            self._records.save(status, self._job.fingerprint)
            self._written = status

    @property
    def is_settled(self) -> bool:
        """Whether the job is over and its record says so."""
        return self.status.state.is_final and self._written == self.status

    def _claim(self) -> None:
        """Go on from what an earlier job has left; beside an equal one that runs, begin with nothing."""
        wanted = self._job.fingerprint
        if wanted is None:
            return
        first = self._records.claim(wanted, self.status.job_id)
        self._is_beside = first is None
        self._first = first or self._first

    def _until_stopped(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """No task is begun after the job was asked to stop."""
        return takewhile(lambda _: not self._is_to_stop.is_set(), tasks)

    def _finish(self, results: Iterator[Any]) -> None:
        """Wait for the tasks that run when a job is cancelled, and keep what they do for a repeat."""
        try:
            for _ in results:
                continue
        except Exception:  # noqa: BLE001 - nobody waits for its result
            _log.warning("A task failed while its job %s was being cancelled", self.status.job_id, exc_info=True)

    def _kept(
        self, results: Iterator[tuple[Task, Result]], key: Callable[[Task], str]
    ) -> Iterator[tuple[Task, Result]]:
        for task, result in results:
            if self._job.fingerprint:
                self._records.keep(self._job.fingerprint, self._first, key(task), result)
            yield task, result

    def _end(self, state: JobState, message: str, **changes: Any) -> None:
        """Remember the outcome; if it cannot be written now, the next beat tries again.

        Who waits for the end in this process hears of it last: the record is written then, and a repeat can begin.
        """
        job_id = self.status.job_id
        with self._writing:
            ended = replace(self.status, state=state, message=message, updated_at=time.time(), **changes)
            try:
                self._records.save(ended, self._job.fingerprint)
                self._written = ended
            except Exception:  # noqa: BLE001 - the store may be out of reach for a while
                _log.warning("The record of the job %s could not be written yet", job_id, exc_info=True)
            self._release(state)
            with self._lock:
                self._status = ended

    def _release(self, state: JobState) -> None:
        """Drop what the job has kept of its tasks, if that is of no use to a repeat."""
        is_of_no_use = state is JobState.SUCCEEDED or self._is_beside
        if not self._job.fingerprint or not is_of_no_use:
            return
        job_id = self.status.job_id
        try:
            self._records.release(self._job.fingerprint, job_id)
        except Exception:  # noqa: BLE001 - as above; the checkpoints go when the record is pruned
            _log.warning("What the job %s kept of its tasks could not be deleted", job_id, exc_info=True)

    def _update(self, **changes: Any) -> JobStatus:
        with self._lock:
            self._status = replace(self._status, **{"updated_at": time.time(), **changes})
            return self._status


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], concurrency: int | None
) -> Generator[tuple[Task, Result], None, None]:
    """Run a function over tasks, ``concurrency`` at a time, and give the results as they come.

    Closing it waits for the tasks that are under way; no other is begun. So it is if one fails, and what the others
    have done is given before the failure is raised: a repeat need not do it again.
    """
    workers = concurrency or os.cpu_count() or 1
    remaining = iter(tasks)
    running: dict[Future[Result], Task] = {}
    failures: list[Future[Result]] = []
    with ThreadPoolExecutor(workers, thread_name_prefix="lancespace-task") as pool:
        while True:
            free = 0 if failures else workers - len(running)
            running |= {pool.submit(function, task): task for task in islice(remaining, free)}
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                if future.exception() is None:
                    yield task, future.result()
                else:
                    failures.append(future)
    for failed in failures[:1]:
        failed.result()
