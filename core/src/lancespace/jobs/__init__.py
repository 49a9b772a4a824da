"""Long work on tables, as jobs of the connection's engine: ``local`` computes in threads, ``spark`` on a cluster.

Each function checks its arguments, submits a job and answers a :class:`SubmittedJob` at once::

    jobs.compact(ns, "sales.orders").wait()

A job commits once, or says so; it is cancelled with ``SubmittedJob.cancel`` or ``alter_transaction``, followed with
``SubmittedJob.status`` or ``describe_transaction``, and a repeat goes on from what was finished.
"""

from __future__ import annotations

from lancespace.errors import translated

with translated("import lancespace.jobs"):  # Without pylance, the error has the pip line.
    from lancespace.jobs.changing import delete_rows, update_rows
    from lancespace.jobs.cleanup import clean_up
    from lancespace.jobs.compaction import compact
    from lancespace.jobs.copying import copy_table
    from lancespace.jobs.importing import import_files
    from lancespace.jobs.indexing import build_index
    from lancespace.jobs.maintenance import maintain
    from lancespace.jobs.submitted import JobFailedError, SubmittedJob

__all__ = [
    "JobFailedError",
    "SubmittedJob",
    "build_index",
    "clean_up",
    "compact",
    "copy_table",
    "delete_rows",
    "import_files",
    "maintain",
    "update_rows",
]
