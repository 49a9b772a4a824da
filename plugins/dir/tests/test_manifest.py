"""The manifest's engine: what is committed, how it is found again, and that all ways to it agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance_namespace import ConcurrentModificationError, InternalError

import lancespace
from lancespace.storage import Storage
from lancespace_dir.manifest import upkeep, writer
from lancespace_dir.manifest.committer import Manifest
from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.schema import DIRECTORY, NAMESPACE, SCHEMA, STORAGE_VERSION, TABLE, Entry, to_table
from lancespace_dir.manifest.writer import TIP_ROWS


def storage_at(root: Path) -> Storage:
    storage: Storage = lancespace.connect("dir", {"root": str(root)}).backend.storage
    return storage


def manifest_at(root: Path, *, retries: int = 20) -> Manifest:
    return Manifest(storage_at(root), commit_retries=retries, with_upkeep=False)


def put(manifest: Manifest, *ids: str, kind: str = TABLE) -> None:
    def change(draft: Draft) -> None:
        for object_id in ids:
            draft.put(Entry(object_id, kind, f"at_{object_id}" if kind == TABLE else None))

    manifest.mutate(change)


def remove(manifest: Manifest, *ids: str) -> None:
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


def as_rust_leaves_it(root: Path, ids: list[str]) -> None:
    """A manifest of one fragment that is too large to be a tip."""
    table = to_table([Entry(object_id, TABLE, f"at_{object_id}") for object_id in ids], SCHEMA)
    lance.write_dataset(table, str(root / DIRECTORY), data_storage_version=STORAGE_VERSION)


def test_new_manifest_is_what_the_spec_says(tmp_path: Path):
    put(manifest_at(tmp_path), "a", kind=NAMESPACE)

    dataset = lance.dataset(str(tmp_path / DIRECTORY))
    assert dataset.schema.equals(SCHEMA, check_metadata=True)
    assert dataset.data_storage_version == STORAGE_VERSION


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


def test_two_commits_from_one_version_exclude_each_other(tmp_path: Path):
    for start in ("nothing", "a tip", "one large fragment"):
        root = tmp_path / start
        if start == "a tip":
            put(manifest_at(root), "x")
        if start == "one large fragment":
            as_rust_leaves_it(root, numbered(TIP_ROWS + 1))
        first, second = manifest_at(root), manifest_at(root)
        plans = []
        for manifest in (first, second):
            with manifest.reading() as reader:
                draft = Draft(reader)
                draft.put(Entry("new", TABLE, "somewhere"))
                plans.append(writer.plan(reader, draft))

        written = [manifest._writer.write(plan) for manifest, plan in zip((first, second), plans, strict=True)]
        publish(first, plans[0], written[0])
        with pytest.raises(writer.Conflict):
            publish(second, plans[1], written[1])
        with pytest.raises(writer.Conflict):
            publish(second, plans[1], second._writer.write(plans[1]))

        assert "new" in rows(root), start


def publish(manifest: Manifest, plan: writer.Plan, written: list[tuple[Any, Any]]) -> None:
    manifest._writer.publish(plan, [fragment for fragment, _ in written])


def test_control_plain_appends_do_not_exclude_each_other(tmp_path: Path):
    """Why a commit must touch a fragment that all agree on: without it, the same name is entered twice."""
    put(manifest_at(tmp_path), "x")
    version = lance.dataset(str(tmp_path / DIRECTORY)).version
    for _ in range(2):
        new = lance.fragment.write_fragments(
            to_table([Entry("new", TABLE)], SCHEMA), str(tmp_path / DIRECTORY), mode="append"
        )
        lance.LanceDataset.commit(
            str(tmp_path / DIRECTORY), lance.LanceOperation.Append(new), read_version=version, max_retries=0
        )

    with pytest.raises(AssertionError, match="twice"):
        rows(tmp_path)


def test_large_fragment_gives_one_row_to_the_new_tip(tmp_path: Path):
    as_rust_leaves_it(tmp_path, numbered(TIP_ROWS + 1))

    put(manifest_at(tmp_path), "new")

    assert [fragment.num_rows for fragment in fragments(tmp_path)] == [TIP_ROWS, 2]
    assert rows(tmp_path).keys() == {*numbered(TIP_ROWS + 1), "new"}


@pytest.mark.parametrize("succeeded", [True, False])
def test_lost_answer_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, succeeded: bool):
    manifest = manifest_at(tmp_path)
    put(manifest, "x")
    commit = lance.LanceDataset.commit
    calls = []

    def lossy(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if succeeded:
            commit(*arguments, **options)
        raise OSError("the connection was reset")

    monkeypatch.setattr(lance.LanceDataset, "commit", lossy)
    if succeeded:
        put(manifest, "new")
    else:
        with pytest.raises(InternalError, match="the connection was reset"):
            put(manifest, "new")

    assert len(calls) == 1
    assert ("new" in rows(tmp_path)) is succeeded
    assert (manifest.get("new") is not None) is succeeded


def test_giving_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    manifest = manifest_at(tmp_path, retries=2)
    put(manifest, "x")

    def always_late(*_: Any) -> Any:
        raise writer.Conflict

    monkeypatch.setattr(manifest._writer, "publish", always_late)
    with pytest.raises(ConcurrentModificationError, match="3 times in a row"):
        put(manifest, "new")


def test_mutation_that_fails_leaves_the_others_of_its_batch(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    draft_errors: list[Exception] = []

    def failing(draft: Draft) -> None:
        draft.put(Entry("half", TABLE))
        raise ValueError("no")

    def batch(draft: Draft) -> None:
        draft.put(Entry("whole", TABLE))
        try:
            draft.attempt(failing)
        except ValueError as error:
            draft_errors.append(error)

    manifest.mutate(batch)

    assert len(draft_errors) == 1
    assert rows(tmp_path).keys() == {"whole"}


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


def test_upkeep_merges_small_fragments_and_leaves_the_tip(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    for start in range(0, TIP_ROWS * 18, TIP_ROWS):
        put(manifest, *numbered(TIP_ROWS, start))
    remove(manifest, "t00010")
    before = rows(tmp_path)
    tip = writer.tip_of({str(fragment.id): fragment for fragment in fragments(tmp_path)})

    merged = upkeep.merge(lance.dataset(str(tmp_path / DIRECTORY)))

    assert merged is not None
    assert len(fragments(tmp_path)) == 2
    assert tip in {str(fragment.id) for fragment in fragments(tmp_path)}
    assert rows(tmp_path) == before
    assert upkeep.merge(merged) is None
    with manifest.reading() as reader:
        assert reader.load().all_of(TABLE) == sorted(before)


def test_upkeep_indexes_large_manifests_and_look_ups_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upkeep, "INDEX_FROM_ROWS", 5000)
    as_rust_leaves_it(tmp_path, numbered(6000))
    manifest = manifest_at(tmp_path)

    upkeep.update_index(lance.dataset(str(tmp_path / DIRECTORY)))
    put(manifest, "new")

    dataset = lance.dataset(str(tmp_path / DIRECTORY))
    assert [index.field_names for index in dataset.describe_indices()] == [["object_id"]]
    assert "ScalarIndexQuery" in dataset.scanner(filter="object_id = 't00007'").explain_plan()
    assert manifest_at(tmp_path).get("t00007") is not None
    assert manifest_at(tmp_path).get("new") is not None


def test_upkeep_runs_as_the_catalog_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upkeep, "EVERY_VERSIONS", 4)
    monkeypatch.setattr(upkeep, "CLEAN_EVERY_ROUNDS", 2)
    monkeypatch.setattr(upkeep, "KEEP_VERSIONS", upkeep.KEEP_VERSIONS * 0)
    manifest = Manifest(storage_at(tmp_path), commit_retries=20)
    for number in range(24):
        put(manifest, f"t{number}")
        manifest.close()

    versions = list((tmp_path / DIRECTORY / "_versions").glob("*.manifest"))
    assert len(versions) <= 8
    assert len(rows(tmp_path)) == 24


def test_unknown_columns_keep_their_values(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, "a", "b")
    lance.dataset(str(tmp_path / DIRECTORY)).add_columns({"theirs": "concat('of ', object_id)"})

    put(manifest, "c")
    manifest.mutate(lambda draft: draft.put(Entry("a", TABLE, "elsewhere")))

    table = lance.dataset(str(tmp_path / DIRECTORY)).to_table(columns=["object_id", "location", "theirs"])
    found = {row["object_id"]: (row["location"], row["theirs"]) for row in table.to_pylist()}
    assert found == {"a": ("elsewhere", "of a"), "b": ("at_b", "of b"), "c": ("at_c", None)}


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
        patch.setattr(writer, "TIP_ROWS", tip_rows)
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


def test_commits_do_without_a_place_for_the_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not" / "there"))
    manifest = Manifest(storage_at(tmp_path / "catalog"), commit_retries=20)

    put(manifest, "a")

    assert rows(tmp_path / "catalog").keys() == {"a"}
