"""Data files of the manifest, encoded in memory and written in one go.

pylance writes a file in many small steps, each of which changes threads; for the few rows of a commit those steps take
most of the time. So does compression, which is left out: whoever merges the small files compresses their rows.
"""

from __future__ import annotations

import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from lance.file import LanceFileSession
from lance.fragment import DataFile, FragmentMetadata

from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA, STORAGE_VERSION

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.snapshots import Snapshot

_COLUMNS = (0, 1, 2, 3, 5)
"""The numbers of the fields that have a column of their own; a list has none, its items do."""
_FIELD_COUNT = 6
_PLAIN = pa.schema([column.with_metadata({"lance-encoding:compression": "none"}) for column in SCHEMA])
"""For the writer alone; the columns of the table have metadata of their own."""
_MAJOR, _MINOR = (int(part) for part in STORAGE_VERSION.split("."))


def is_usual(snapshot: Snapshot, schema: pa.Schema) -> bool:
    """Whether the table has the columns and the file format that it is created with, numbered as they were then."""
    return schema == SCHEMA and snapshot.field_ids == tuple(range(_FIELD_COUNT)) and snapshot.format == STORAGE_VERSION


def write(storage: Storage, rows: pa.Table) -> FragmentMetadata:
    """Write rows with the usual columns; the fragment, which nobody sees before it is committed."""
    data = _encode(rows)
    name = f"{uuid.uuid4().hex}.lance"
    path = f"{storage.path()}/{DIRECTORY}/data/{name}"
    if storage.is_local:
        Path(path).parent.mkdir(exist_ok=True)  # An empty table, as pylance begins one, has none.
        Path(path).write_bytes(data)
    else:
        storage.filesystem.pipe_file(path, data)
    file = DataFile(name, list(_COLUMNS), list(range(len(_COLUMNS))), _MAJOR, _MINOR, len(data))
    return FragmentMetadata(id=0, files=[file], physical_rows=rows.num_rows)


def _encode(rows: pa.Table) -> bytes:
    session, name = _memory(), f"{uuid.uuid4().hex}.lance"
    writer = session.open_writer(name, schema=_PLAIN, version=STORAGE_VERSION)
    try:
        for batch in pa.Table.from_arrays(rows.columns, schema=_PLAIN).to_batches():
            writer.write_batch(batch)
        writer.close()
        return bytes(session.read_range(name, 0, writer.size_bytes))
    finally:
        session.delete_file(name)


@cache
def _memory() -> LanceFileSession:
    """A store of this process, for files on their way."""
    return LanceFileSession("memory:///lancespace")
