"""The directory catalog: Lance tables in a directory, on a disk or in an object store.

``lancespace.connect("dir", {"root": "/data"})``, or upstream
``lance_namespace.connect("lancespace_dir.DirectoryNamespace", {"root": "/data"})``.
"""

from __future__ import annotations

from lancespace.authoring import namespace_class, register_aliases
from lancespace_dir.backend import DirectoryBackend
from lancespace_dir.migration import migrate, unmigrated
from lancespace_dir.snapshots import snapshot

__all__ = ["DirectoryBackend", "DirectoryNamespace", "migrate", "snapshot", "unmigrated"]

DirectoryNamespace = namespace_class("dir")
"""A namespace of this backend that takes its properties as keywords, as ``lance_namespace.connect`` passes them."""

register_aliases()
