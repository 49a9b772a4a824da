"""The records of jobs that a catalog keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lancespace.errors import translated

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.engines import JobStatus
    from lancespace.engines.records import JobRecords


def records_of(namespace: Namespace) -> JobRecords | None:
    """The records, or None if the backend has no place for them."""
    from lancespace.engines.files import StoredFiles
    from lancespace.engines.records import JobRecords

    storage = namespace.backend.job_storage()
    return None if storage is None else JobRecords(StoredFiles(storage))


def latest(namespace: Namespace, limit: int) -> list[JobStatus]:
    """So many jobs, the latest first.

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
