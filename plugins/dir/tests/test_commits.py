"""Commits to the manifest: of two from one version one wins, and what is written is what Lance would write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pytest
from lance_namespace import ConcurrentModificationError, InternalError

from lancespace_dir.manifest import plans
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_dir.manifest.drafts import Draft
from lancespace_dir.manifest.plans import TIP_ROWS
from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA, TABLE, Entry, to_table
from lancespace_dir.manifest.versions import VersionFiles
from lancespace_testing.waiting import until
from plugins.dir.tests.manifests import as_rust_leaves_it, manifest_at, numbered, put, remove, rows, storage_at

STARTS: dict[str, Callable[[Path], object]] = {
    "no rows": lambda root: manifest_at(root)._writer.begin(),
    "a tip": lambda root: put(manifest_at(root), "x"),
    "one large fragment": lambda root: as_rust_leaves_it(root, numbered(TIP_ROWS + 1)),
    "a tip for Lance": lambda root: as_rust_leaves_it(root, ["x"], enable_stable_row_ids=True),
    "a large fragment for Lance": lambda root: as_rust_leaves_it(
        root, numbered(TIP_ROWS + 1), enable_stable_row_ids=True
    ),
}
"""What there may be before a commit; a table with stable row ids has what we do not write ourselves."""


def test_two_commits_from_one_version_exclude_each_other(tmp_path: Path):
    for start, begin in STARTS.items():
        root = tmp_path / start
        begin(root)
        first, second = manifest_at(root), manifest_at(root)
        made = []
        for manifest in (first, second):
            with manifest.reading() as reader:
                draft = Draft(reader)
                draft.put(Entry("new", TABLE, "somewhere"))
                made.append(plans.plan(reader, draft))

        written = [manifest._writer.write(plan) for manifest, plan in zip((first, second), made, strict=True)]
        publish(first, made[0], written[0])
        with pytest.raises(plans.Conflict):
            publish(second, made[1], written[1])
        with pytest.raises(plans.Conflict):
            publish(second, made[1], second._writer.write(made[1]))

        assert "new" in rows(root), start


def test_of_two_that_create_the_manifest_the_second_goes_on_with_the_first_one_s(tmp_path: Path):
    first, second = manifest_at(tmp_path), manifest_at(tmp_path, retries=0)
    with second.reading() as reader:
        assert reader.version == 0
    begin = second._writer.begin

    def begin_late() -> Any:
        put(first, "theirs")
        return begin()

    second._writer.begin = begin_late  # type: ignore[method-assign]
    put(second, "ours")

    assert rows(tmp_path).keys() == {"theirs", "ours"}


def publish(manifest: ManifestTable, plan: plans.Plan, written: list[tuple[Any, Any]]) -> None:
    manifest._writer.publish(plan, [fragment for fragment, _ in written])


def test_control_plain_appends_do_not_exclude_each_other(tmp_path: Path):
    """Why a commit may only become the very next version: otherwise the same name is entered twice."""
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


@pytest.mark.parametrize("succeeded", [True, False])
def test_lost_answer_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, succeeded: bool):
    manifest = manifest_at(tmp_path)
    put(manifest, "x")
    put_file = VersionFiles.put
    calls = []

    def lossy(files: VersionFiles, version: int, data: bytes, base: Any) -> None:
        calls.append(version)
        if succeeded:
            put_file(files, version, data, base)
        raise OSError("the connection was reset")

    monkeypatch.setattr(VersionFiles, "put", lossy)
    if succeeded:
        put(manifest, "new")
    else:
        with pytest.raises(InternalError, match="the connection was reset"):
            put(manifest, "new")

    assert calls == [3]
    assert ("new" in rows(tmp_path)) is succeeded
    assert (manifest.get("new") is not None) is succeeded


def test_giving_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    manifest = manifest_at(tmp_path, retries=2)
    put(manifest, "x")

    def always_late(*_: Any) -> Any:
        raise plans.Conflict

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


def test_commits_do_without_a_place_for_the_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not" / "there"))
    manifest = ManifestTable(storage_at(tmp_path / "catalog"), commit_retries=20)

    put(manifest, "a")

    assert rows(tmp_path / "catalog").keys() == {"a"}


def test_manifest_with_something_unknown_is_committed_by_lance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    as_rust_leaves_it(tmp_path, numbered(TIP_ROWS + 1), enable_stable_row_ids=True)
    manifest = manifest_at(tmp_path)
    commit = lance.LanceDataset.commit
    calls = []

    def counting(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return commit(*arguments, **options)

    monkeypatch.setattr(lance.LanceDataset, "commit", counting)
    put(manifest, "new")
    put(manifest, "newer", "t00007")
    remove(manifest, "t00008", "new")

    assert len(calls) == 3
    assert rows(tmp_path).keys() == {*numbered(TIP_ROWS + 1), "newer"} - {"t00008"}
    assert lance.dataset(str(tmp_path / DIRECTORY)).has_stable_row_ids


def test_interrupted_leader_tells_the_others_and_makes_way(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    put(manifest, "x")
    go_on = threading.Event()
    ended: list[type[BaseException] | None] = []

    def run(mutation: Callable[[Draft], None]) -> None:
        try:
            manifest.mutate(mutation)
        except BaseException as error:  # noqa: BLE001 - it is what is looked at
            ended.append(type(error))
        else:
            ended.append(None)

    def interrupted(_: Draft) -> None:
        raise KeyboardInterrupt

    first = threading.Thread(target=run, args=(lambda _: go_on.wait() and None,))
    first.start()
    until(lambda: manifest._has_leader, bool)
    others = [
        threading.Thread(target=run, args=(mutation,))
        for mutation in (lambda draft: draft.put(Entry("lost", TABLE)), interrupted)
    ]
    for thread in others:
        thread.start()
    until(lambda: len(manifest._queue), lambda waiting: waiting == 2)
    go_on.set()
    for thread in (first, *others):
        thread.join()

    assert sorted(str(error) for error in ended) == sorted(map(str, (None, InternalError, KeyboardInterrupt)))
    put(manifest, "new")
    assert rows(tmp_path).keys() == {"x", "new"}
