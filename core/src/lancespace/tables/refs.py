"""The files behind tags and branches, for what pylance cannot know of its own writes.

A write whose answer is lost is sent again, and the store says that the file exists: pylance takes that for somebody
else's. What is written here has a content of its own, by which its writer knows it.
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lance_namespace import InvalidInputError

from lancespace.storage.reading import read
from lancespace.tables.access import MAIN_BRANCH
from lancespace.tables.manifests import ManifestDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance

    from lancespace.storage import Storage
    from lancespace.tables.access import TableRef


_LONGEST = 250
"""Bytes of a name; a file is called by it, with ``.json`` at the end, and 255 bytes is what file systems allow."""


def check_name(kind: str, name: str) -> None:
    """Refuse a name that no file can have: pylance finds out when it has written the half of a branch.

    A tag with other letters than those of ASCII, pylance writes but cannot list, and then lists no other tag either.

    Raises:
        InvalidInputError: The name is too long, or not one for a tag.
    """
    if kind == "tag" and not name.isascii():
        raise InvalidInputError(f"The name of the tag, {name[:40]!r}, has letters that are not ASCII: choose another.")
    length = len(quote(name, safe="", errors="replace"))
    if length > _LONGEST:
        raise InvalidInputError(
            f"The name of the {kind}, {name[:40] + '…'!r}, is too long: it takes {length} bytes in the name of a file, "
            f"{_LONGEST} are allowed. Choose a shorter one."
        )


def write_tag(storage: Storage, ref: TableRef, name: str, branch: str | None, version: int, size: int | None) -> None:
    """Give a version a name, as pylance writes it; ``size`` is that of the version's manifest.

    Raises:
        FileExistsError: The name is taken.
    """
    now = _moment()
    content: dict[str, Any] = {
        "branch": None if branch == MAIN_BRANCH else branch,
        "version": version,
        "createdAt": now,
        "updatedAt": now,
        "manifestSize": size or 0,
        "metadata": {},
    }
    _write(storage, ref, f"tags/{name}.json", content)


def finish_branch(
    storage: Storage, ref: TableRef, table: lance.LanceDataset, name: str, pauses: Sequence[float] = ()
) -> None:
    """Enter a branch that has versions into the list of branches, if it is not there, nor after any of the pauses.

    Creating one takes two steps: its first version, which only one can write, and its entry. Whoever broke off between
    them left a branch that one can read but not see, delete or create.
    """
    branches = read(table.branches.list)
    for pause in pauses:
        if name in branches:
            break
        time.sleep(pause)
        branches = read(table.branches.list)
    if name not in branches:
        _enter_branch(storage, ref, table, name, branches)


def _enter_branch(
    storage: Storage, ref: TableRef, table: lance.LanceDataset, name: str, branches: dict[str, Any]
) -> None:
    first = ManifestDirectory(ref, name, storage).list()[0].version
    cloned: Any = table.checkout_version((name, first)).read_transaction(first).operation
    parent = cloned.ref_name
    source = table.checkout_version((parent, cloned.ref_version))
    lineage = branches[parent]["branch_identifier"] if parent is not None else []
    content = {
        "parentBranch": parent,
        "identifier": {"version_mapping": [*lineage, (source.version, uuid.uuid4().hex)]},
        "parentVersion": source.version,
        "createAt": int(time.time()),
        "manifestSize": _size(ManifestDirectory(ref, parent, storage), source.version),
        "metadata": {},
    }
    with suppress(FileExistsError):  # Its creator was not gone, only slow.
        _write(storage, ref, f"branches/{quote(name, safe='')}.json", content)


def _write(storage: Storage, ref: TableRef, name: str, content: dict[str, Any]) -> None:
    path = f"{storage.path(ref.location).rstrip('/')}/_refs/{name}"
    storage.put_if_absent(path, json.dumps(content, indent=2).encode(), unique=True)


def _size(directory: ManifestDirectory, version: int) -> int:
    return next((found.size or 0 for found in directory.list() if found.version == version), 0)


def _moment() -> str:
    """Now, in nanoseconds as pylance writes it: true to the millisecond, and no two writers have the same digits."""
    now = datetime.now(timezone.utc)
    return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}{secrets.randbelow(10**6):06d}Z"
