"""What the tests of the manifest's engine share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance

import lancespace
from lancespace.authoring import Storage
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA, STORAGE_VERSION, TABLE, Entry, to_table


def storage_at(root: Path) -> Storage:
    storage: Storage = lancespace.connect("dir", {"root": str(root)}).backend.storage
    return storage


def manifest_at(root: Path, *, retries: int = 20) -> ManifestTable:
    return ManifestTable(storage_at(root), commit_retries=retries, with_upkeep=False)


def put(manifest: ManifestTable, *ids: str, kind: str = TABLE) -> None:
    def change(draft: Draft) -> None:
        for object_id in ids:
            draft.put(Entry(object_id, kind, f"at_{object_id}" if kind == TABLE else None))

    manifest.mutate(change)


def remove(manifest: ManifestTable, *ids: str) -> None:
    def change(draft: Draft) -> None:
        for object_id in ids:
            draft.remove(object_id)

    manifest.mutate(change)


def rows(root: Path) -> dict[str, str]:
    """What any Lance reader finds, refusing duplicates."""
    table = lance.dataset(str(root / DIRECTORY)).to_table()
    ids = table.column("object_id").to_pylist()
    assert len(ids) == len(set(ids)), "an identifier stands in the manifest twice"
    return dict(zip(ids, table.column("object_type").to_pylist(), strict=True))


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"t{number:05d}" for number in range(start, start + count)]


def fragments(root: Path) -> list[Any]:
    return [fragment.metadata for fragment in lance.dataset(str(root / DIRECTORY)).get_fragments()]


def as_rust_leaves_it(root: Path, ids: list[str], **options: Any) -> None:
    """A manifest of one fragment, which may be too large to be a tip."""
    table = to_table([Entry(object_id, TABLE, f"at_{object_id}") for object_id in ids], SCHEMA)
    lance.write_dataset(table, str(root / DIRECTORY), data_storage_version=STORAGE_VERSION, **options)
