"""A staged manifest in a cloud: what a client has written when it asks the catalog to make it a version."""

from __future__ import annotations

from typing import Any

import lance

from lancespace.storage import Storage
from lancespace.testing.samples import sample


def stage_append(storage: Storage, location: str) -> dict[str, Any]:
    """Do all of an append but the commit, and return what the request for that says.

    The append is made on a copy; what it adds goes to the table, its manifest under a name that no reader looks at.
    """
    filesystem, table, copy = storage.filesystem, storage.path(location), f"{storage.path()}/copy"
    before = {path[len(table) :] for path in filesystem.find(table)}
    for name in before:
        filesystem.pipe_file(copy + name, filesystem.cat_file(table + name))
    version = lance.write_dataset(sample(), storage.uri("copy"), mode="append", storage_options=storage.options).version
    staged = ""
    for name in {path[len(copy) :] for path in filesystem.find(copy)} - before:
        target = table + name
        if name.endswith(".manifest"):
            target = staged = f"{target}-staged"
        filesystem.pipe_file(target, filesystem.cat_file(copy + name))
    storage.delete_tree(copy)
    path = staged.lstrip("/").partition("/")[2]
    return {"version": version, "manifest_path": path, "naming_scheme": "V2"}
