"""Whether files that no version names are still there: somebody may have cleaned up, or dropped the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def are_there(location: str, storage_options: Mapping[str, str], paths: Iterable[str]) -> bool:
    """Whether all of some files, given below the directory of a table, exist."""
    from lance.file import LanceFileSession

    session = LanceFileSession(location, storage_options=dict(storage_options))
    return all(session.contains(path) for path in paths)


def data_files(fragments: Iterable[Mapping[str, Any]]) -> list[str]:
    """Where the data files of fragments are, which are given as JSON values; those of another table are left out."""
    return [
        f"data/{file['path']}" for fragment in fragments for file in fragment["files"] if file.get("base_id") is None
    ]
