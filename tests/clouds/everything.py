"""Every kind of request of a catalog; a module of its own, since a process of its own must be able to import it."""

from __future__ import annotations

import os

import lancespace
import lancespace_jobs as jobs
from lancespace_testing.samples import COUNT, sample


def use_everything(root: str, variables: dict[str, str]) -> None:
    """Have a managed catalog send every kind of request; pylance reads the environment only once."""
    os.environ.update(variables)
    with lancespace.connect("dir", {"root": root, "table_version_management": "true"}) as namespace:
        namespace.create_namespace("a")
        for name in ("declared", "doomed"):
            namespace.declare_table(name)
        namespace.create_table("t", sample())
        namespace.insert_into_table("t", sample())
        jobs.compact(namespace, "t").wait()
        assert namespace.count_table_rows("t").count == 2 * COUNT
        namespace.drop_table("doomed")
        assert namespace.list_tables().tables == ["declared", "t"]
