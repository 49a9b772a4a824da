"""Which fragments of a table have the rows that changed between two of its versions."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import UnsupportedOperationError

from lancespace_spark.changes import changed_fragments


def numbers(start: int, stop: int) -> pa.Table:
    return pa.table({"id": range(start, stop), "a": range(start, stop)})


class Changing:
    """A table, and the ids in its fragments that changed after its first version."""

    def __init__(self, folder: Path) -> None:
        self.table = lance.write_dataset(numbers(0, 6), folder / "t", max_rows_per_file=3)

    def append(self, start: int, stop: int) -> None:
        self.table = lance.write_dataset(numbers(start, stop), self.table.uri, mode="append")

    def ids(self, since: int = 1) -> list[int]:
        self.table = lance.dataset(self.table.uri)
        found = changed_fragments(self.table, since, self.table.version)
        chosen = [self.table.get_fragment(number) for number in found]
        return sorted(self.table.scanner(fragments=chosen).to_table()["id"].to_pylist()) if chosen else []


@pytest.fixture
def changing(tmp_path: Path) -> Changing:
    return Changing(tmp_path)


def test_changed_rows_are_told_from_others(changing: Changing) -> None:
    changing.append(6, 8)
    changing.table.update({"a": "0"}, where="id = 1 OR id = 6")
    assert changing.ids() == [1, 6, 7]
    changing.table.delete("id = 7 OR id = 2")
    assert changing.ids() == [1, 6]
    changing.table.create_scalar_index("id", "BTREE")
    changing.table.drop_columns(["a"])
    assert changing.ids() == [1, 6]
    changing.table.add_columns({"b": "id + 1"})
    assert changing.ids() == [0, 1, 3, 4, 5, 6]
    assert changing.ids(changing.table.version) == []


def test_compaction_changes_no_row(changing: Changing) -> None:
    changing.table.optimize.compact_files()
    assert changing.ids() == []
    changing.append(6, 8)
    assert changing.ids() == [6, 7]
    changing.append(8, 9)
    changing.table.optimize.compact_files()
    with pytest.raises(UnsupportedOperationError, match="compacted together"):
        changing.ids()


def test_rows_that_are_all_new_stay_so_when_they_are_compacted(changing: Changing) -> None:
    changing.table.delete("id < 3")  # What is left is as large as a fragment should be, and is let alone.
    changing.append(6, 7)
    changing.append(7, 8)
    changing.table.optimize.compact_files(target_rows_per_fragment=3)
    assert len(changing.table.get_fragments()) == 2
    assert changing.ids() == [6, 7]


@pytest.mark.parametrize("change", ["overwrite", "restore"])
def test_after_some_changes_no_row_is_known_again(changing: Changing, change: str) -> None:
    changing.append(6, 8)
    if change == "overwrite":
        lance.write_dataset(numbers(0, 2), changing.table.uri, mode="overwrite")
    else:
        changing.table.checkout_version(1).restore()
    with pytest.raises(UnsupportedOperationError, match=f"version 3 is a {change.capitalize()}"):
        changing.ids()
