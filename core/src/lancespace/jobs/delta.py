"""Which files a Delta table consists of: its folder also holds those of rows that were deleted or replaced."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from lance_namespace import InvalidInputError

LOG = "_delta_log"
_DIGITS = 20
"""Versions are numbered with so many digits."""


def live_files(filesystem: Any, folder: str) -> list[str] | None:
    """The Parquet files of the latest version, by their paths; None if the folder is no Delta table.

    Raises:
        InvalidInputError: If the table uses something that its files alone do not tell.
    """
    log = f"{folder.rstrip('/')}/{LOG}"
    if not filesystem.exists(log):
        return None
    first, live = _checkpoint(filesystem, log, folder)
    for action in _actions(filesystem, log, first):
        if "remove" in action:
            live.discard(unquote(action["remove"]["path"]))
        if "add" in action:
            live.add(_path(action["add"], folder))
    return sorted(path if "://" in path else f"{folder.rstrip('/')}/{path}" for path in live)


def _actions(filesystem: Any, log: str, first: int) -> Iterator[dict[str, Any]]:
    """What the commits from a version on did, in order."""
    for path in sorted(filesystem.ls(log, detail=False)):
        number, _, rest = posixpath.basename(path).partition(".")
        if rest == "json" and number.isdigit() and int(number) >= first:
            yield from (json.loads(line) for line in filesystem.cat_file(path).splitlines() if line.strip())


def _checkpoint(filesystem: Any, log: str, folder: str) -> tuple[int, set[str]]:
    """The files at the last checkpoint, and the version that comes after it."""
    import pyarrow.parquet as pq

    try:
        last = json.loads(filesystem.cat_file(f"{log}/_last_checkpoint"))
    except FileNotFoundError:
        return 0, set()
    name = f"{log}/{last['version']:0{_DIGITS}}.checkpoint.parquet"
    if not filesystem.exists(name):
        raise InvalidInputError(
            f"the Delta table {folder} has a checkpoint in several parts, which is not read here: "
            "import what Spark reads of it"
        )
    added = pq.read_table(name, columns=["add"], filesystem=filesystem)["add"].to_pylist()
    return last["version"] + 1, {_path(add, folder) for add in added if add is not None}


def _path(add: dict[str, Any], folder: str) -> str:
    if add.get("deletionVector") is not None:
        raise InvalidInputError(
            f"the Delta table {folder} has deletion vectors, so its files hold rows that are deleted: "
            "run REORG TABLE ... APPLY (PURGE) on it first, or import what Spark reads of it"
        )
    return unquote(add["path"])
