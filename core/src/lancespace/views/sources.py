"""The tables that a view is made from, each pinned at one version, and what tells that their rows have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import lance

from lancespace.engines import fingerprint


@dataclass(frozen=True)
class Source:
    """A table at a version, with what another process needs to open it."""

    names: tuple[str, ...]
    location: str
    version: int
    storage_options: Mapping[str, str] = field(repr=False)

    def open(self) -> lance.LanceDataset:
        """The table, at this version."""
        return lance.dataset(self.location, version=self.version, storage_options=dict(self.storage_options))


def fragment_keys(dataset: lance.LanceDataset) -> dict[int, str]:
    """For every fragment a key that changes whenever any of its rows may have: by an update, a delete, a new column.

    Files are never written twice, so their names stand for their content. A renamed column keeps its files, so the
    columns are part of the key.
    """
    columns = list(_columns(dataset.lance_schema.fields()))
    return {
        fragment.fragment_id: fingerprint(columns, str(fragment.metadata.to_json()))
        for fragment in dataset.get_fragments()
    }


def table_key(dataset: lance.LanceDataset) -> str:
    """A key that changes whenever the rows of the table may have."""
    return fingerprint(list(_columns(dataset.lance_schema.fields())), sorted(fragment_keys(dataset).values()))


def _columns(fields: list[Any]) -> Iterator[list[Any]]:
    for each in fields:
        yield [each.name(), each.id(), list(_columns(each.children()))]
