from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace import ConcurrentModificationError, InvalidInputError, TableAlreadyExistsError

import lancespace_jobs as jobs
from lancespace import connect
from lancespace_jobs import FOLDER, JobFailedError, Stage
from lancespace_jobs import _copies as copying
from plugins.jobs.tests.support import TABLE, files, fill, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace


def test_a_table_is_copied_into_another_namespace_in_one_version(ns: Namespace, tmp_path: Path) -> None:
    fill(ns)
    ns.delete_from_table(TABLE, predicate="id = 3")
    with connect("dir", {"root": str(tmp_path / "other")}) as other:
        jobs.copy_table(ns, TABLE, other, "copy").wait()
        assert ids(other, "copy") == ids(ns)
        assert other.table("copy").dataset().version == 1
        assert other.table("copy").dataset().schema == ns.table(TABLE).dataset().schema
        with pytest.raises(TableAlreadyExistsError, match="already exists: 'copy'"):
            jobs.copy_table(ns, TABLE, other, "copy")


def test_an_old_version_can_be_copied(ns: Namespace) -> None:
    fill(ns)
    jobs.copy_table(ns, TABLE, ns, "sales.old", version=2).wait()
    assert ids(ns, "sales.old") == list(range(20))


def test_a_repeat_goes_on_from_what_was_finished(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ns)
    real = copying.copy_fragment
    done: list[int] = []
    is_lost = [True]

    def failing(task: Any) -> Any:
        if is_lost and len(done) == 2:
            raise InvalidInputError("the machine is lost")
        done.append(task.fragment)
        return real(task)

    monkeypatch.setattr(copying, "copy_fragment", failing)
    with pytest.raises(JobFailedError, match="the machine is lost"):
        jobs.copy_table(ns, TABLE, ns, "sales.copy").wait()
    is_lost.clear()
    jobs.copy_table(ns, TABLE, ns, "sales.copy").wait()
    assert set(done) == {0, 1, 2, 3}
    assert len(done) < 2 + 4  # At least one was kept; one that ends beside the failure may be lost.
    assert ids(ns, "sales.copy") == list(range(40))
    assert len(files(ns, "sales.copy")) == 4
    assert not any(name.startswith(FOLDER) for name in files(ns, "sales.copy"))


def test_a_commit_that_was_refused_is_tried_again_unless_the_table_is_there(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ns)
    real = Stage.commit
    refused: list[str] = []

    def commit(stage: Stage, *given: Any) -> int:
        if stage.handle.name not in refused:
            refused.append(stage.handle.name)
            if stage.handle.name == "sales.taken":
                ns.create_table("sales.taken", rows(90, 91))
            raise ConcurrentModificationError("somebody was faster")
        return real(stage, *given)

    monkeypatch.setattr(Stage, "commit", commit)
    jobs.copy_table(ns, TABLE, ns, "sales.copy").wait()
    assert ids(ns, "sales.copy") == list(range(40))
    with pytest.raises(JobFailedError, match=r"already exists: 'sales\.taken'"):
        jobs.copy_table(ns, TABLE, ns, "sales.taken").wait()
    assert ids(ns, "sales.taken") == [90]
