"""The files that we write ourselves are those that Lance would write."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lance
import pytest
from lance.fragment import write_fragments

from lancespace_dir.manifest import protobuf, snapshots
from lancespace_dir.manifest.fragments import Fragment, deletion_file, new_fragment
from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA, TABLE, Entry, to_table
from lancespace_dir.manifest.snapshots import Snapshot
from lancespace_dir.manifest.versions import VersionFiles, name_of
from plugins.dir.tests.manifests import as_rust_leaves_it, manifest_at, numbered, put, remove, rows, storage_at

INDEX_SECTION, TIMESTAMP, TRANSACTION_FILE, TRANSACTION = 6, 7, 12, 23
UPDATE = 108
IN_FRAGMENT: dict[int, Any] = {2: {}, 3: {}}
"""The fields of a fragment that are messages."""


def snapshot(root: Path, version: int) -> Snapshot:
    found = VersionFiles(storage_at(root)).read(version)
    assert found is not None
    return Snapshot(found.data)


def table(root: Path) -> Any:
    return lance.dataset(str(root / DIRECTORY))


def normal(raw: Any, messages: Mapping[int, Any]) -> list[tuple[int, Any]]:
    """The fields of a message in a fixed order, without those that are zero; some are messages themselves."""
    fields = [
        (number, normal(value, messages[number]) if number in messages else value)
        for number, value in protobuf.decode(raw)
    ]
    return sorted((field for field in fields if field[1] != 0), key=repr)


def sections(data: bytes) -> dict[str, list[tuple[int, Any]] | bytes]:
    """What is in the file of a version, but for where it is in it, when it was written, and the transaction's file."""

    def section(start: int) -> bytes:
        (length,) = struct.unpack_from("<I", data, start)
        return data[start + 4 : start + 4 + length]

    (start,) = struct.unpack_from("<Q", data, len(data) - 16)
    message = normal(section(start), {2: IN_FRAGMENT})
    at = dict(protobuf.decode(section(start)))
    transaction = dict(protobuf.decode(section(int(at.get(TRANSACTION, 0)))))
    return {
        "message": [
            field for field in message if field[0] not in {INDEX_SECTION, TIMESTAMP, TRANSACTION_FILE, TRANSACTION}
        ],
        "indexes": section(int(at[INDEX_SECTION])) if INDEX_SECTION in at else b"",
        "transaction": [(1, transaction[1]), (2, transaction[2])],
        "update": normal(transaction[UPDATE], {2: IN_FRAGMENT, 3: IN_FRAGMENT}),
        "footer": [(0, data[-8:])],
    }


@pytest.mark.parametrize("is_deleting", [True, False])
def test_next_version_is_what_lance_would_write(tmp_path: Path, is_deleting: bool):
    as_rust_leaves_it(tmp_path, numbered(100))
    table(tmp_path).create_scalar_index("object_id", "BTREE")
    table(tmp_path).update_metadata({"a": "b"})
    table(tmp_path).update_config({"lance.some": "thing"})
    put(manifest_at(tmp_path), "x")
    before = table(tmp_path)
    number, *_ = (fragment.fragment_id for fragment in before.get_fragments())
    changed = [before.get_fragment(number).delete_rows([3, 5])] if is_deleting else []
    gone = [] if is_deleting else [number]
    new = write_fragments(to_table([Entry("new", TABLE)], SCHEMA), before, schema=SCHEMA)
    name = str(uuid.uuid4())

    ours = snapshot(tmp_path, before.version).successor(
        name, gone, {one.id: deletion_file(one) for one in changed}, [new_fragment(one) for one in new]
    )
    operation = lance.LanceOperation.Update(removed_fragment_ids=gone, updated_fragments=changed, new_fragments=new)
    after = lance.LanceDataset.commit(before, lance.Transaction(before.version, operation, name))

    assert sections(ours) == sections(snapshot(tmp_path, after.version).data)
    assert sections(ours)["indexes"]


def test_what_is_read_of_a_version_is_what_pylance_says(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, *numbered(600))
    remove(manifest, "t00003", "t00004")
    table(tmp_path).update_metadata({"key": "value"})

    found = snapshot(tmp_path, table(tmp_path).version)

    expected = [Fragment.of(fragment.metadata) for fragment in table(tmp_path).get_fragments()]
    assert list(found.fragments.values()) == expected
    assert found.version == table(tmp_path).version
    assert found.metadata == {"key": "value"}
    assert found.is_plain
    assert expected[0].deleted_rows == 2


def test_what_is_not_plain_is_found_out(tmp_path: Path):
    as_rust_leaves_it(tmp_path, ["a"], enable_stable_row_ids=True)
    assert not snapshot(tmp_path, 1).is_plain

    other = tmp_path / "other"
    put(manifest_at(other), "a")
    found = snapshot(other, 1)
    assert found.is_plain
    assert not Snapshot(with_field(found.data, 99, 1)).is_plain


def test_lance_reads_and_commits_what_has_an_unknown_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put(manifest_at(tmp_path), "a")
    monkeypatch.setattr(snapshots, "_FORMAT_VERSION", (0, 99))
    assert Snapshot.parse((tmp_path / "__manifest" / "_versions" / name_of(2)).read_bytes()) is None

    manifest, other = manifest_at(tmp_path), manifest_at(tmp_path)
    put(manifest, "b")
    put(other, "c")
    remove(manifest, "a")

    assert rows(tmp_path).keys() == {"b", "c"}
    monkeypatch.undo()
    assert all(snapshot(tmp_path, version).is_plain for version in range(1, 6))
    put(other, "d")
    assert rows(tmp_path).keys() == {"b", "c", "d"}


def with_field(data: bytes, number: int, value: int) -> bytes:
    """The file of a version of a later Lance, which has a field more."""
    (start,) = struct.unpack_from("<Q", data, len(data) - 16)
    message = data[start + 4 : -16] + protobuf.encode([(number, value)])
    return data[:start] + struct.pack("<I", len(message)) + message + data[-16:]


def test_a_file_that_is_no_version_is_refused():
    with pytest.raises(ValueError, match="does not end as one"):
        Snapshot(b"nothing like it, but long enough")


def test_numbers_of_any_size_and_unknown_fields_survive():
    fields: list[tuple[int, int | bytes]] = [(1, 0), (2, 127), (3, 128), (1000, 2**64 - 1), (5, b""), (6, b"x" * 300)]

    assert list(protobuf.decode(protobuf.encode(fields))) == fields
    with pytest.raises(ValueError, match="field 1 is of the unknown kind 5"):
        list(protobuf.decode(b"\x0d\x00\x00\x00\x00"))
