"""Segments of an index as JSON values: a checkpoint keeps no pickle, which is code of whoever wrote it."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance.dataset import Index


def to_json(segment: Index) -> dict[str, Any]:
    """A segment that was built and is not committed yet."""
    details = segment.index_details
    return {
        "uuid": segment.uuid,
        "name": segment.name,
        "fields": list(segment.fields),
        "dataset_version": segment.dataset_version,
        "fragment_ids": sorted(segment.fragment_ids),
        "index_version": segment.index_version,
        "created_at": None if segment.created_at is None else segment.created_at.isoformat(),
        "base_id": segment.base_id,
        "files": None if segment.files is None else [[file.path, file.size_bytes] for file in segment.files],
        "index_details": None if details is None else [details[0], base64.b64encode(details[1]).decode()],
        "covering_fields": list(segment.covering_fields),
    }


def from_json(kept: dict[str, Any]) -> Index:
    """The segment again."""
    from lance.dataset import Index, IndexFile

    created, files, details = kept["created_at"], kept["files"], kept["index_details"]
    return Index(
        **kept
        | {
            "fragment_ids": set(kept["fragment_ids"]),
            "created_at": None if created is None else datetime.fromisoformat(created),
            "files": None if files is None else [IndexFile(path, size) for path, size in files],
            "index_details": None if details is None else (details[0], base64.b64decode(details[1])),
        }
    )
