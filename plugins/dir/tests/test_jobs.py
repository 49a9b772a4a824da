"""Jobs of a directory catalog, seen from another process than the one that runs them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import DescribeTableRequest, InvalidInputError, ListTablesRequest

from lancespace import connect
from lancespace_jobs import JobRecords
from lancespace_jobs import _local as local
from lancespace_jobs._runner import STOPPING
from lancespace_tables import virtual_column
from lancespace_tables._backfill import Backfill, Plan, fill_fragment
from lancespace_tables._column_values import recipe_for
from lancespace_testing.waiting import until
from plugins.dir.tests.processes import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace

ROWS = 10
FRAGMENTS = 4
HALT = 20
"""The function waits at the fragment that begins with this row."""


def slow_function(calls: str, gate: str) -> Any:
    """A function that notes each call in a file, and waits for another file before its third one."""

    def negate(batch: pa.RecordBatch) -> Any:
        first = batch.column("id")[0].as_py()
        with Path(calls).open("a") as log:
            log.write(f"{first}\n")
        while first == HALT and not Path(gate).exists():
            time.sleep(0.02)
        return pc.negate(batch.column("id"))

    return negate


def own(root: str, job_file: str) -> Any:
    """Start the backfill, tell its id through a file, and run it to its end."""
    JobRecords.heartbeat = 0.2
    local._TICK = 0.1
    with connect("dir", {"root": root, "udf.enabled": "true"}) as namespace:
        job = namespace.alter_table_backfill_columns("t", column="v", concurrency=1).job_id
        Path(f"{job_file}.new").write_text(f"{os.getpid()} {job}")
        Path(f"{job_file}.new").rename(job_file)
        return finished(namespace, job).properties


def finished(namespace: Namespace, job: str) -> Any:
    return until(lambda: namespace.describe_transaction(job), lambda found: found.status not in {"QUEUED", "RUNNING"})


class Scene:
    """A table of four fragments, and an owner of a job that waits at the third."""

    def __init__(self, directory: Path) -> None:
        self.root = str(directory / "root")
        self.calls, self.gate, self._job = (directory / name for name in ("calls", "gate", "job"))
        self.namespace = connect("dir", {"root": self.root, "udf.enabled": "true"})
        for start in range(0, ROWS * FRAGMENTS, ROWS):
            data = pa.table({"id": range(start, start + ROWS)})
            if start == 0:
                self.namespace.create_table("t", data)
            else:
                self.namespace.insert_into_table("t", data)
        entry = virtual_column(slow_function(str(self.calls), str(self.gate)), inputs=["id"], outputs={"v": pa.int64()})
        self.namespace.alter_table_add_columns("t", new_columns=[entry])
        self.owner = Process(own, self.root, str(self._job))
        until(self.called, lambda called: HALT in called)
        pid, self.job = self._job.read_text().split()
        self.pid = int(pid)

    def called(self) -> list[int]:
        """The first row of each fragment that was computed, in order."""
        return [int(line) for line in self.calls.read_text().split()] if self.calls.exists() else []

    def values(self) -> dict[int, Any]:
        rows = self.namespace.table("t").to_arrow(columns=["id", "v"]).to_pylist()
        return {row["id"]: row["v"] for row in rows}

    def describe(self) -> Any:
        return self.namespace.describe_transaction(self.job)

    def repeat(self) -> Any:
        job = self.namespace.alter_table_backfill_columns("t", column="v", concurrency=1).job_id
        return finished(self.namespace, job)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.gate.touch()
    scene.namespace.close()


FILLED = {number: -number for number in range(ROWS * FRAGMENTS)}


def test_another_process_asks_and_cancels_and_a_repeat_goes_on(scene: Scene):
    shown = until(scene.describe, lambda found: found.properties["fraction"] == "0.500")
    assert shown.status == "RUNNING"
    assert shown.properties["rows"] == str(2 * ROWS)
    assert shown.properties["owner"].endswith(f":{scene.pid}")

    answer = scene.namespace.alter_transaction(scene.job, actions=[{"set_status_action": {"status": "canceled"}}])
    assert answer.status == "RUNNING", "it stops at its next safe point"
    until(scene.describe, lambda found: found.properties["message"] == STOPPING)
    scene.gate.touch()

    assert "cancelled" in scene.owner.result()["message"]
    assert scene.describe().status == "CANCELED"
    assert set(scene.values().values()) == {None}, "nothing was committed"
    before = scene.called()

    assert scene.repeat().status == "SUCCEEDED"

    assert scene.values() == FILLED
    assert scene.called()[:2] == [0, 10]
    assert not {0, 10} & set(scene.called()[len(before) :]), "what was finished is not computed again"


def test_a_job_whose_owner_was_killed_has_failed_and_is_repeated(scene: Scene):
    assert scene.describe().status in {"QUEUED", "RUNNING"}
    os.kill(scene.pid, signal.SIGKILL)
    assert scene.owner.exit_code() == -signal.SIGKILL

    shown = until(scene.describe, lambda found: found.status == "FAILED")
    assert "send the request again" in shown.properties["message"]
    assert set(scene.values().values()) == {None}
    scene.gate.touch()

    assert scene.repeat().status == "SUCCEEDED"

    assert scene.values() == FILLED
    assert scene.called() == [0, 10, 20, 20, 30], "only the fragment that was under way is computed twice"
    assert scene.describe().status == "FAILED", "the repeat is a job of its own"


def test_appends_while_it_runs(scene: Scene):
    scene.namespace.insert_into_table("t", pa.table({"id": [100, 101], "v": [7, None]}))
    scene.gate.touch()

    assert scene.owner.result()["rows"] == str(ROWS * FRAGMENTS)

    assert scene.values() == {**FILLED, 100: 7, 101: None}


def test_properties_set_by_another_process(scene: Scene):
    action = {"set_property_action": {"key": "ticket", "value": "A-1"}}
    scene.namespace.alter_transaction(scene.job, actions=[action])
    scene.gate.touch()

    assert scene.owner.result()["ticket"] == "A-1"
    with connect("dir", {"root": scene.root}) as third:
        assert (third.describe_transaction(scene.job).properties or {})["ticket"] == "A-1"


def test_tasks_run_in_other_processes(tmp_path: Path):
    with connect("dir", {"root": str(tmp_path), "table_version_management": "true"}) as namespace:
        namespace.create_table("t", [{"id": 1}])
        namespace.alter_table_add_columns("t", new_columns=[{"name": "v", "computed": "id + 1"}])
        table = namespace.backend.locate(DescribeTableRequest(id=["t"]))
        recipe = recipe_for(table.open(), "v")
        assert recipe is not None
        (task,) = Backfill(Plan(table, None, recipe))._tasks(table.open())

        assert Process(fill_fragment, task).result()["rows"] == 1


@pytest.mark.parametrize("manifest", ["true", "false"])
def test_records_are_no_tables(tmp_path: Path, manifest: str):
    with connect("dir", {"root": str(tmp_path), "manifest_enabled": manifest}) as namespace:
        namespace.create_table("t", [{"id": 1}])
        namespace.alter_table_add_columns("t", new_columns=[{"name": "v", "computed": "id"}])
        finished(namespace, namespace.alter_table_backfill_columns("t", column="v").job_id)
        assert (tmp_path / "__jobs").is_dir()

        assert list(namespace.tables()) == ["t"]
        assert list(namespace.namespaces()) == []
        theirs = DirectoryNamespace(root=str(tmp_path), manifest_enabled=manifest)
        assert theirs.list_tables(ListTablesRequest(id=[])).tables == ["t"]
        with pytest.raises(InvalidInputError, match="belongs to the catalog"):
            namespace.register_table("x", location="__jobs/x")
