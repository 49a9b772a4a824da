from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace_jobs import FOLDER, Stage, TableSpec, Written, declare, discard_all, take_back
from lancespace_tables import TableLocation
from plugins.jobs.tests.support import TABLE, files, folder, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace


@pytest.fixture
def stage(ns: Namespace) -> Stage:
    ns.create_table(TABLE, rows(0, 10))
    stage = Stage(TableSpec.of(ns, TABLE), "job-1", "append")
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
        _commit_without_answer(stage, written, TimeoutError())
    stage.discard()
    assert ns.table(TABLE).to_arrow().num_rows == 20


def _commit_without_answer(stage: Stage, written: Written, failure: Exception) -> None:
    with stage.published([written]) as fragments:
        stage.commit(rows(0, 0).schema, fragments, 1)
        raise failure


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


def test_a_refusal_of_what_is_committed_already_keeps_its_files(ns: Namespace, stage: Stage) -> None:
    """A store may refuse the repeat of a request whose answer was lost."""
    written = stage.write(rows(10, 20).to_batches(), rows(0, 0).schema)
    with pytest.raises(ConcurrentModificationError):
        _commit_without_answer(stage, written, ConcurrentModificationError("it is there"))
    assert ids(ns) == list(range(20))


def test_a_declaration_is_taken_back_unless_others_use_it(ns: Namespace) -> None:
    handle = TableSpec.of(ns, TABLE)
    assert declare(handle)
    take_back(handle)
    assert not ns.table(TABLE).exists()
    declare(handle)
    other = Stage(handle, "other", "create")
    written = other.write(rows(0, 10).to_batches(), rows(0, 0).schema)
    take_back(handle)
    with other.published([written]) as fragments:
        other.commit(rows(0, 0).schema, fragments, None)
    take_back(handle)
    assert ids(ns) == list(range(10))


def test_the_first_version_is_made_once(ns: Namespace) -> None:
    handle = TableSpec.of(ns, TABLE)
    declare(handle)
    stages = [Stage(handle, name, "create") for name in ("one", "other")]
    written = [stage.write(rows(0, 10).to_batches(), rows(0, 0).schema) for stage in stages]
    _commit(stages[0], written[0])
    before = files(ns)
    with pytest.raises(ConcurrentModificationError, match="was created by another caller"):
        _commit(stages[1], written[1])
    assert {name for name in before if name.startswith("data/")} == files(ns)


def _commit(stage: Stage, written: Written) -> None:
    with stage.published([written]) as fragments:
        stage.commit(rows(0, 0).schema, fragments, None)


class _Vending(TableSpec):
    """A table in a store whose namespace hands out credentials that are soon of no use."""

    asked = 0

    @property
    def namespace(self) -> Any:
        return SimpleNamespace(backend=SimpleNamespace(connection=self))

    def place(self) -> TableLocation:
        type(self).asked += 1
        return TableLocation(self.id, "s3://lake/t.lance", {"token": str(self.asked)})

    def storage(self, place: TableLocation | None = None) -> Any:
        place = place or self.place()
        self.properties["used"] = place.storage_options["token"]  # type: ignore[index]
        return SimpleNamespace(is_local=False, path=str, filesystem=SimpleNamespace(pipe_file=lambda *_: None))


def test_a_long_write_into_a_new_table_renews_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    from lance.fragment import DataFile, FragmentMetadata

    given: dict[str, Any] = {}

    def write(_: Any, **settings: Any) -> list[FragmentMetadata]:
        given.update(settings)
        return [FragmentMetadata(0, [DataFile("a.lance", [0], [0])], 1)]

    monkeypatch.setattr("lance.fragment.write_fragments", write)
    handle = _Vending("rest", {}, ("t",))
    Stage(handle, "job", "create").write(rows(0, 1).to_batches(), rows(0, 0).schema)
    assert given["table_id"] == ["t"]
    assert given["namespace_client"].backend.connection is handle
    assert (given["storage_options"]["token"], handle.properties["used"]) == ("1", "2")
