"""The manifest's engine: what is committed, how it is found again, and that all ways to it agree."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import lance
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lancespace_dir import mutations
from lancespace_dir.manifest import plans
from lancespace_dir.manifest.plans import TIP_ROWS
from lancespace_dir.manifest.schema import DIRECTORY, NAMESPACE, SCHEMA, STORAGE_VERSION, TABLE, Entry
from plugins.dir.tests.manifests import as_rust_leaves_it, fragments, manifest_at, numbered, put, remove, rows


def test_new_manifest_is_what_the_spec_says(tmp_path: Path):
    put(manifest_at(tmp_path), "a", kind=NAMESPACE)

    dataset = lance.dataset(str(tmp_path / DIRECTORY))
    assert dataset.schema.equals(SCHEMA, check_metadata=True)
    assert dataset.data_storage_version == STORAGE_VERSION


def test_rows_come_into_an_empty_table_as_pylance_begins_one(tmp_path: Path):
    """It has no folder for data yet."""
    lance.write_dataset(SCHEMA.empty_table(), tmp_path / DIRECTORY, data_storage_version=STORAGE_VERSION)
    assert not (tmp_path / DIRECTORY / "data").exists()

    put(manifest_at(tmp_path), "a", kind=NAMESPACE)

    assert rows(tmp_path).keys() == {"a"}


def test_full_tip_is_sealed_and_another_begun(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, *numbered(TIP_ROWS))
    assert [fragment.num_rows for fragment in fragments(tmp_path)] == [TIP_ROWS]

    put(manifest, "one-more")

    assert [fragment.num_rows for fragment in fragments(tmp_path)] == [TIP_ROWS, 1]
    assert len(rows(tmp_path)) == TIP_ROWS + 1


def test_sealed_rows_are_deleted_without_being_rewritten(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, *numbered(TIP_ROWS + 100))
    sealed = fragments(tmp_path)[0].files[0].path

    remove(manifest, "t00003", "t00004")

    assert fragments(tmp_path)[0].files[0].path == sealed
    assert fragments(tmp_path)[0].deletion_file.num_deleted_rows == 2
    assert rows(tmp_path).keys() == set(numbered(TIP_ROWS + 100)) - {"t00003", "t00004"}


def test_all_rows_can_go_and_others_come(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, *numbered(TIP_ROWS + 5))
    remove(manifest, *numbered(TIP_ROWS + 5))
    assert rows(tmp_path) == {}

    put(manifest, "again")

    assert rows(tmp_path).keys() == {"again"}
    assert manifest.get("again") == Entry("again", TABLE, "at_again")


def test_large_fragment_is_left_alone_and_a_tip_begun(tmp_path: Path):
    as_rust_leaves_it(tmp_path, numbered(TIP_ROWS + 1))

    put(manifest_at(tmp_path), "new")

    assert [fragment.num_rows for fragment in fragments(tmp_path)] == [TIP_ROWS + 1, 1]
    assert rows(tmp_path).keys() == {*numbered(TIP_ROWS + 1), "new"}


def test_foreign_commits_are_taken_in_by_reading_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ours, other = manifest_at(tmp_path), manifest_at(tmp_path)
    put(other, *numbered(TIP_ROWS * 2))
    with ours.reading() as reader:
        reader.load()
    read = []
    original = lance.LanceFragment.scanner

    def counting(fragment: Any, *arguments: Any, **options: Any) -> Any:
        read.append(fragment.physical_rows)
        return original(fragment, *arguments, **options)

    monkeypatch.setattr(lance.LanceFragment, "scanner", counting)
    put(other, "new")
    remove(other, "t00001")

    assert ours.get("new") == Entry("new", TABLE, "at_new")
    assert ours.get("t00001") is None
    assert ours.get("t00002") is not None
    with ours.reading() as reader:
        assert reader.load().all_of(TABLE) == sorted({*numbered(TIP_ROWS * 2), "new"} - {"t00001"})
    assert read, "nothing was read, so nothing was counted"


def test_name_that_changes_hands_is_listed_as_what_it_is_now(tmp_path: Path):
    """A namespace that goes and a table of its name that comes may be taken in together, with the rows around them."""
    ours, other = manifest_at(tmp_path), manifest_at(tmp_path)
    put(other, "x", "y", kind=NAMESPACE)
    with ours.reading() as reader:
        assert reader.load().all_of(NAMESPACE) == ["x", "y"]

    remove(other, "x")
    put(other, "x", kind=TABLE)

    with ours.reading() as reader:
        assert reader.load().all_of(NAMESPACE) == ["y"]
        assert reader.load().all_of(TABLE) == ["x"]
        assert reader.load().children("", TABLE) == ["x"]
    remove(other, "x")
    with ours.reading() as reader:
        assert reader.load().all_of(TABLE) == []


def test_cold_client_looks_single_entries_up_before_it_loads(tmp_path: Path):
    as_rust_leaves_it(tmp_path, numbered(6000))
    manifest = manifest_at(tmp_path)

    assert manifest.get("t00007") == Entry("t00007", TABLE, "at_t00007")
    assert manifest.get("o'clock") is None
    with manifest.reading() as reader:
        assert reader.index is None
    for name in numbered(5):
        assert manifest.get(name) is not None
    with manifest.reading() as reader:
        assert reader.index is not None
        assert len(reader.index) == 6000


def test_cold_client_changes_the_catalog_without_loading_it(tmp_path: Path):
    as_rust_leaves_it(tmp_path, numbered(6000))
    manifest = manifest_at(tmp_path)

    remove(manifest, "t00007")

    with manifest.reading() as reader:
        assert reader.index is None
    assert rows(tmp_path).keys() == set(numbered(6000)) - {"t00007"}


def test_unknown_columns_keep_their_values(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, "a", "b")
    lance.dataset(str(tmp_path / DIRECTORY)).add_columns({"theirs": "concat('of ', object_id)"})

    put(manifest, "c")
    manifest.mutate(lambda draft: draft.put(Entry("a", TABLE, "elsewhere")))

    table = lance.dataset(str(tmp_path / DIRECTORY)).to_table(columns=["object_id", "location", "theirs"])
    found = {row["object_id"]: (row["location"], row["theirs"]) for row in table.to_pylist()}
    assert found == {"a": ("elsewhere", "of a"), "b": ("at_b", "of b"), "c": ("at_c", None)}


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_cascade_costs_what_it_drops(is_listed: bool, tmp_path: Path):
    """The lines of Python that run are as many in a catalog that is ten times as large."""

    def lines(size: int) -> int:
        root = tmp_path / str(size)
        inside = [f"a$t{number:05d}" for number in range(500)]
        as_rust_leaves_it(root, [*inside, *(f"b$t{number:05d}" for number in range(size))])
        manifest = manifest_at(root)
        put(manifest, "a", "b", kind=NAMESPACE)
        with manifest.reading() as reader:
            if is_listed:
                reader.load().all_of(TABLE)
            list(reader.load().tables_at("elsewhere"))  # As the rows are read once, so are their locations.
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal count
            count += event == "line"
            return trace if "lancespace_dir" in frame.f_code.co_filename else None

        sys.settrace(trace)
        try:
            manifest.mutate(lambda draft: mutations.take_out_namespace(draft, ["a"], cascade=True))
        finally:
            sys.settrace(None)
        assert manifest.get("a$t00007") is None
        with manifest.reading() as reader:
            assert reader.load().all_of(TABLE) == [f"b$t{number:05d}" for number in range(size)]
        return count

    assert lines(10_000) < 1.1 * lines(1_000)


def test_many_identifiers_that_are_not_together_leave_the_listings(tmp_path: Path):
    as_rust_leaves_it(tmp_path, numbered(1000))
    manifest = manifest_at(tmp_path)
    with manifest.reading() as reader:
        reader.load().all_of(TABLE)

    remove(manifest, *numbered(1000)[::3])

    with manifest.reading() as reader:
        assert reader.load().all_of(TABLE) == [name for name in numbered(1000) if int(name[1:]) % 3]
    assert manifest.get("t00003") is None
    assert manifest.get("t00004") is not None


names = st.integers(0, 40).map(lambda number: f"n{number:02d}")
steps = st.lists(
    st.tuples(st.sampled_from(["put", "remove"]), st.lists(names, min_size=1, max_size=12, unique=True)), max_size=12
)


@settings(max_examples=25, deadline=None)
@given(steps=steps, tip_rows=st.sampled_from([1, 3, 8]), large=st.booleans())
def test_all_ways_to_the_manifest_agree(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str]]], tip_rows: int, large: bool
):
    root = tmp_path_factory.mktemp("catalog")
    model: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "TIP_ROWS", tip_rows)
        if large:
            model = dict.fromkeys((f"n{number:02d}" for number in range(20)), TABLE)
            as_rust_leaves_it(root, list(model))
        writers = [manifest_at(root), manifest_at(root)]
        with writers[0].reading() as reader:
            reader.load().all_of(TABLE)  # One client keeps listings up; the other begins cold.
        for number, (action, ids) in enumerate(steps):
            if action == "put":
                put(writers[number % 2], *ids)
                model |= dict.fromkeys(ids, TABLE)
            else:
                present = [object_id for object_id in ids if object_id in model]
                remove(writers[number % 2], *present)
                model = {object_id: kind for object_id, kind in model.items() if object_id not in present}
        if model:
            assert rows(root) == model
        for manifest in (*writers, manifest_at(root)):
            with manifest.reading() as reader:
                assert reader.load().all_of(TABLE) == sorted(model)
                assert reader.load().children("", TABLE) == sorted(model)
                assert all(manifest.get(object_id) is not None for object_id in model)
                assert manifest.get("n99") is None
