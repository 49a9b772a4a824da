"""Commits that go right on top of a version: in storage, and where the catalog keeps the versions."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from pathlib import Path

import lance
import pytest
from lance.dataset import Transaction
from lance_namespace import ConcurrentModificationError

from lancespace import Namespace, connect
from lancespace_jobs import TableSpec, commit_next
from plugins.jobs.tests.pausing import (
    TABLE,
    Meanwhile,
    append,
    commit,
    commit_and_clean_up,
    ids,
    rows,
    sweep,
    tag_commit_and_clean_up,
)


@pytest.fixture(params=["false", "true"], ids=["storage", "catalog"])
def ns(tmp_path: Path, request: pytest.FixtureRequest) -> Namespace:
    namespace = connect("dir", {"root": str(tmp_path), "table_version_management": request.param})
    namespace.create_table(TABLE, rows(0))
    return namespace


def manifests(ns: Namespace) -> list[str]:
    return sorted(path.name for path in Path(str(ns.describe_table(TABLE).location), "_versions").glob("*.manifest*"))


def test_it_is_the_version_after_the_one_that_was_read(ns: Namespace) -> None:
    assert append(ns, 1, 1) == 2
    assert append(ns, 2, 2) == 3
    assert ids(ns) == [0, 1, 2]
    ns.insert_into_table(TABLE, rows(3))
    assert ns.table(TABLE).dataset().version == 4


def test_whoever_else_commits_first_keeps_it_out_and_nothing_is_left(ns: Namespace) -> None:
    ns.insert_into_table(TABLE, rows(1))
    before = manifests(ns)
    with pytest.raises(ConcurrentModificationError, match=r"others have committed to table 't' since version 1$"):
        append(ns, 1, 2)
    assert ids(ns) == [0, 1]
    assert manifests(ns) == before


def test_who_commits_at_the_last_moment_keeps_it_out(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    from lancespace_jobs import _exact_commits as exact

    create = exact._Gate.create_table_version

    def late(self: exact._Gate, request: object) -> object:
        ns.insert_into_table(TABLE, rows(1))
        return create(self, request)  # type: ignore[arg-type]

    monkeypatch.setattr(exact._Gate, "create_table_version", late)
    with pytest.raises(ConcurrentModificationError, match="since version 1"):
        append(ns, 1, 2)
    assert ids(ns) == [0, 1]
    assert len([name for name in manifests(ns) if name.endswith(".manifest")]) == 2


def test_a_version_that_was_cleaned_up_is_not_made_again(ns: Namespace) -> None:
    for number in (1, 2, 3):
        ns.insert_into_table(TABLE, rows(number))
    ns.create_table_tag(TABLE, tag="kept", version=1)
    ns.table(TABLE).dataset().cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)
    with pytest.raises(ConcurrentModificationError):
        append(ns, 1, 9)
    assert ids(ns) == [0, 1, 2, 3]


def test_a_failure_that_is_no_conflict_stays_what_it_is(ns: Namespace) -> None:
    handle = TableSpec.of(ns, TABLE)
    ns.drop_table(TABLE)
    with pytest.raises(Exception, match="t") as caught:
        commit_next(handle, Transaction(1, lance.LanceOperation.Append([])))
    assert not isinstance(caught.value, ConcurrentModificationError)


def test_a_table_whose_versions_are_named_as_they_once_were(tmp_path: Path) -> None:
    lance.write_dataset(rows(0), tmp_path / "t.lance", enable_v2_manifest_paths=False)
    with connect("dir", {"root": str(tmp_path)}) as old:
        assert [append(old, 1, 1), append(old, 2, 2)] == [2, 3]
        assert (manifests(old), ids(old)) == (["1.manifest", "2.manifest", "3.manifest"], [0, 1, 2])


@pytest.mark.parametrize("meanwhile", [commit, commit_and_clean_up, tag_commit_and_clean_up])
def test_a_commit_that_is_paused_anywhere_says_the_truth(
    meanwhile: Meanwhile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = count()
    said = sweep(monkeypatch, lambda: connect("dir", {"root": str(tmp_path / str(next(roots)))}), meanwhile)
    assert said.count("version 2") > 2
    assert "InternalError" not in said or meanwhile is not commit
