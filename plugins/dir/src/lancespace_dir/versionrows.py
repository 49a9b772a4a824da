"""The versions of managed tables as rows of the manifest.

The identifier of a row is that of the table and the number, ``sales$orders$7``, as the spec has it. Beside what the
spec lists, its metadata names the staged manifest that the version came from and the digest of its content, so that
any reader can tell whether the file in ``_versions`` is that manifest, and can put it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError, InvalidTableStateError

from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.schema import TABLE_VERSION, Entry
from lancespace_tables import Manifest

if TYPE_CHECKING:
    from lancespace_dir.manifest.reader import ManifestReader

MANAGEMENT = "table_version_management"
"""The property of a table, and of the whole catalog, that has its versions kept in the manifest."""


@dataclass(frozen=True)
class Version:
    """A version that counts."""

    manifest: Manifest
    staged: str | None = None
    """The name of the staged manifest it came from; None for versions from before the table was managed."""
    digest: str | None = None

    @property
    def number(self) -> int:
        """The number of the version."""
        return self.manifest.version


def to_entry(table_id: str, version: Version) -> Entry:
    """A version as a row."""
    manifest = version.manifest
    known = {
        "manifest_path": f"_versions/{manifest.name}",
        "manifest_size": manifest.size,
        "e_tag": manifest.e_tag,
        "metadata": None if manifest.metadata is None else dict(manifest.metadata),
        "naming_scheme": manifest.naming_scheme,
        "timestamp_millis": manifest.modified_millis,
        "staged": version.staged,
        "sha256": version.digest,
    }
    given = {key: value for key, value in known.items() if value is not None}
    return Entry(row_id(table_id, version.number), TABLE_VERSION, metadata=json.dumps(given, separators=(",", ":")))


def from_entry(entry: Entry) -> Version:
    """A row as a version."""
    known = entry.facts
    try:
        manifest = Manifest(
            int(entry.object_id.rpartition("$")[2]),
            PurePosixPath(known["manifest_path"]).name,
            known.get("manifest_size"),
            known.get("timestamp_millis"),
            known.get("e_tag"),
            known.get("metadata"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidTableStateError(
            f"The manifest's row {entry.object_id!r} is not one of a table version."
        ) from error
    return Version(manifest, known.get("staged"), known.get("sha256"))


def row_id(table_id: str, number: int) -> str:
    """The identifier of a version's row."""
    return f"{table_id}${number}"


def numbers_in(view: Draft | ManifestReader, table_id: str) -> list[int]:
    """The numbers of a table's versions, oldest first; their rows are not looked at, since there may be many."""
    names: Iterable[str]
    if isinstance(view, Draft):
        names = view.child_names(table_id, TABLE_VERSION)
    else:
        names = view.load().children(table_id, TABLE_VERSION)
    return sorted(int(name) for name in names if name.isdecimal())


def find_in(view: Draft | ManifestReader, table_id: str, number: int) -> Version | None:
    """A version of a table."""
    entry = view.get(row_id(table_id, number))
    return None if entry is None or entry.object_type != TABLE_VERSION else from_entry(entry)


def enter(draft: Draft, table_id: str, versions: Iterable[Version]) -> None:
    """Enter versions of a table."""
    for version in versions:
        draft.put(to_entry(table_id, version))


def remove_all(draft: Draft, table_id: str) -> None:
    """Take all versions of a table out."""
    for name in draft.child_names(table_id, TABLE_VERSION):
        draft.remove(f"{table_id}${name}")


def split(properties: Mapping[str, str]) -> tuple[dict[str, str], bool | None]:
    """The properties that are the user's own, and whether the table is to be managed, if that is among them.

    Raises:
        InvalidInputError: It is neither true nor false.
    """
    own = {key: value for key, value in properties.items() if key != MANAGEMENT}
    wanted = properties.get(MANAGEMENT)
    if wanted is not None and wanted.lower() not in {"true", "false"}:
        raise InvalidInputError(f"The property {MANAGEMENT!r} must be 'true' or 'false', not {wanted!r}.")
    return own, None if wanted is None else wanted.lower() == "true"
