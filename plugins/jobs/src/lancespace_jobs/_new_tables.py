"""New tables whose first rows may never come: a failed import leaves the catalog as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lancespace_jobs._job_files import StoredFiles
from lancespace_jobs._records import JobRecords
from lancespace_jobs._stages import take_back
from lancespace_jobs._table_spec import TableSpec

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_jobs._submitted import SubmittedJob


class Trace:
    """The job that may leave something."""

    job_id: str | None = None

    def of(self, job: SubmittedJob) -> SubmittedJob:
        """Remember which one it is."""
        self.job_id = job.id
        return job


@contextmanager
def leaving_no_trace(ns: Namespace, name: str) -> Iterator[Trace]:
    """Give the name of a new table back if no row came to be in it."""
    existed = ns.table(name).exists()
    trace = Trace()
    try:
        yield trace
    except BaseException:
        if not existed:
            _give_back(ns, name, trace.job_id)
        raise


def records_of(namespace: Namespace) -> JobRecords | None:
    """The records of jobs that a catalog keeps, or None if the backend has no place for them."""
    storage = namespace.backend.job_storage()
    return None if storage is None else JobRecords(StoredFiles(storage))


def _give_back(ns: Namespace, name: str, job_id: str | None) -> None:
    """Take back the name of a table without data, and delete what a job kept for a repeat.

    The name stays if an equal job goes on from what the job wrote, or if another writer has files there.
    """
    handle, records = TableSpec.of(ns, name), records_of(ns)
    if not ns.table(name).exists() or handle.latest() is not None:
        return
    if job_id is None:
        ns.drop_table(name)  # The rows of one request have no job's mark.
    else:
        take_back(handle, None if records is None else records.forget_results_of(job_id))
