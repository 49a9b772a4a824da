"""Spark's Python daemon, with what every task needs loaded before it forks: a new worker then starts in a moment.

Only what starts no thread is loaded, as a thread does not survive a fork: neither pyarrow nor lance. It is frozen, so
that the garbage collection after each task does not go through all of it. The allocator is set up for streams of
batches: cleared by the kernel anew for each batch, their memory takes as long as reading them.
"""

from __future__ import annotations

import gc

import lance_namespace  # noqa: F401 - for the workers
import pyspark.sql.datasource  # noqa: F401 - for the workers
from pyspark.daemon import manager

from lancespace.authoring import keep_freed_memory

if __name__ == "__main__":
    keep_freed_memory()
    gc.freeze()
    manager()
