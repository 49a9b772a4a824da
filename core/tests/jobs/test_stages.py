from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from core.tests.jobs.support import TABLE, files, folder, ids, rows
from lancespace.handles import TableHandle
from lancespace.jobs.stages import FOLDER, Stage, Written, discard_all

if TYPE_CHECKING:
    from lancespace import Namespace


@pytest.fixture
def stage(ns: Namespace) -> Stage:
    ns.create_table(TABLE, rows(0, 10))
    stage = Stage(TableHandle.of(ns, TABLE), "job-1", "append")
    stage.prepare()
    return stage


def test_nobody_sees_files_before_the_commit(ns: Namespace, stage: Stage) -> None:
    written = stage.write(rows(10, 20).to_batches(), rows(0, 0).schema)
    assert ids(ns) == list(range(10))
    with stage.published([written]) as fragments:
        stage.commit(rows(0, 0).schema, fragments, 1)
    assert ids(ns) == list(range(20))
    assert not [name for name in files(ns) if name.startswith(FOLDER)]


def test_a_commit_that_was_refused_leaves_nothing(ns: Namespace, stage: Stage) -> None:
    before = {name for name in files(ns) if name.startswith("data/")}
    written = stage.write(rows(10, 20).to_batches(), rows(0, 0).schema)
    with pytest.raises(ConcurrentModificationError), stage.published([written]):
        raise ConcurrentModificationError("somebody was faster")
    assert files(ns) == before


def test_a_commit_whose_answer_is_lost_keeps_its_files(ns: Namespace, stage: Stage) -> None:
    written = stage.write(rows(10, 20).to_batches(), rows(0, 0).schema)
    with pytest.raises(TimeoutError):
        _commit_without_answer(stage, written)
    stage.discard()
    assert ns.table(TABLE).to_arrow().num_rows == 20


def _commit_without_answer(stage: Stage, written: Written) -> None:
    with stage.published([written]) as fragments:
        stage.commit(rows(0, 0).schema, fragments, 1)
        raise TimeoutError


def test_results_can_be_published_again_but_not_after_they_were_discarded(stage: Stage) -> None:
    written = stage.write(rows(10, 20).to_batches(), rows(0, 0).schema)
    assert stage.publish([written]) == stage.publish([written])
    other = stage.write(rows(20, 30).to_batches(), rows(0, 0).schema)
    stage.discard()
    with pytest.raises(InvalidTableStateError, match="start the job anew"):
        stage.publish([other])


def test_stages_are_discarded_by_the_beginning_of_their_names(ns: Namespace, stage: Stage) -> None:
    Stage(stage.handle, "other", "append").prepare()
    discard_all(stage.handle, "job-")
    assert [path.name for path in (folder(ns) / FOLDER).iterdir()] == ["other"]


def test_no_rows_are_no_file(stage: Stage) -> None:
    assert stage.write([], rows(0, 0).schema) == {"fragments": [], "rows": 0}
