"""Long work on tables, as jobs of the connection's engine: ``local`` computes in threads, ``spark`` on a cluster.

Each function checks its arguments, submits a job and returns a :class:`SubmittedJob` at once::

    jobs.compact(ns, "sales.orders").wait()

A job commits once, or says so. Cancel it with ``SubmittedJob.cancel`` or ``alter_transaction``, and follow it with
``SubmittedJob.status`` or ``describe_transaction``. A repeat continues from what was finished.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
