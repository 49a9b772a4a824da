"""Files are taken in once, whatever happens; the jobs run in this process, and no Spark is needed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    UnsupportedOperationError,
)

import lancespace_jobs as jobs
from lancespace_spark.pipeline import load, plan, run
from lancespace_spark.pipeline.state import PipelineState, files_of
from plugins.spark.tests.pipelines import INGEST, Folder

WATCHED = """
import sys, time
from lancespace_spark.pipeline import load, run
list(run(load(sys.argv[1]), lambda *_: (print("runs", flush=True), time.sleep(60))))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("mon", "1,lamp", "2,desk")
    return folder


def die(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("first", [True, False])
def test_an_import_whose_end_was_not_noted_is_not_done_twice(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    if not first:
        folder.run()
    folder.write("tue", "3,sofa")
    with monkeypatch.context() as dying:
        dying.setattr(PipelineState, "succeeded", die)
        with pytest.raises(KeyboardInterrupt):
            folder.run()
    folder.write("wed", "4,bench")
    assert folder.run()["ingest"] == ("first run" if first else "new data", 4 if first else 2)
    assert folder.ids("raw.orders") == [1, 2, 3, 4]


def test_an_import_that_died_after_its_commit_is_not_done_twice(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record does not tell that it succeeded either; the import knows its files again."""
    from lancespace_jobs import Stage

    with monkeypatch.context() as dying:
        dying.setattr(Stage, "discard", lambda *_: 1 / 0)
        with pytest.raises(Exception, match="step ingest"):
            folder.run()
    assert folder.ids("raw.orders") == [1, 2]
    folder.write("tue", "3,sofa")
    folder.run()
    assert folder.ids("raw.orders") == [1, 2, 3]


def test_an_import_that_failed_is_forgotten(folder: Folder) -> None:
    (folder.path / "raw" / "bad.csv").write_text('id,item\n1\n"2,3,4\n')
    with pytest.raises(InvalidInputError, match=r"orders: step ingest: .*bad.csv"):
        folder.run()
    folder.write("bad", "5,chair")
    assert folder.run()["ingest"] == ("first run", 3)
    assert folder.ids("raw.orders") == [1, 2, 5]


def test_one_run_at_a_time(folder: Folder, tmp_path: Path) -> None:
    folder.pipeline()
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "orders.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "runs\n"
        with pytest.raises(ConcurrentModificationError, match=f"being run by {socket.gethostname()}:{other.pid}: wait"):
            folder.run()
        other.kill()
    assert folder.run()["ingest"][1] == 2  # The owner is gone, as one sees on the same machine.
    assert folder.ids("raw.orders") == [1, 2]
    assert not list(folder.runs.glob("*"))


def test_a_run_that_gave_no_sign_for_long_is_followed_and_does_not_go_on(folder: Folder) -> None:
    claim = folder.runs / "1"
    claim.parent.mkdir(parents=True)
    claim.write_text(json.dumps({"owner": "elsewhere:1", "at": time.time()}))
    with pytest.raises(ConcurrentModificationError, match="elsewhere:1"):
        folder.run()
    claim.write_text(json.dumps({"owner": "elsewhere:1", "at": time.time() - 1000}))
    steps = INGEST + '[[step]]\nname = "tidy"\nkind = "compact"\ntable = "raw.orders"\n'
    slow = run(folder.pipeline(steps))
    next(slow)
    assert not claim.exists()
    (claim.parent / "3").write_text(json.dumps({"owner": "elsewhere:1", "at": time.time()}))
    with pytest.raises(ConcurrentModificationError, match="took over"):
        next(slow)


def test_a_run_that_was_paused_while_another_one_ran_does_not_go_on(folder: Folder) -> None:
    """The numbers begin again after that one, so a number alone would not tell."""
    steps = INGEST + '[[step]]\nname = "tidy"\nkind = "compact"\ntable = "raw.orders"\n'
    slow = run(folder.pipeline(steps))
    next(slow)
    (folder.runs / "1.alive").write_text(json.dumps({"owner": "elsewhere:1", "at": time.time() - 1000}))
    assert folder.run(steps)["tidy"]
    assert not list(folder.runs.glob("*"))
    with pytest.raises(ConcurrentModificationError, match="took over"):
        next(slow)


def test_a_run_that_was_paused_saves_nothing_over_what_another_one_knows(folder: Folder) -> None:
    pipeline = folder.pipeline()
    with folder.namespace() as namespace:
        files = files_of(namespace, pipeline)
        paused = PipelineState(files, pipeline)
        for _ in range(2):
            PipelineState(files, pipeline).succeeded(pipeline.steps[0], {"of": "the other"})
        with pytest.raises(ConcurrentModificationError, match="took over"):
            paused.succeeded(pipeline.steps[0], {"of": "the paused"})
        found = PipelineState(files, pipeline).entry(pipeline.steps[0])
    assert found is not None
    assert found.seen == {"of": "the other"}


def test_a_catalog_that_remembers_nothing_is_refused(folder: Folder) -> None:
    (folder.path / "rest.toml").write_text(f'[catalog]\nbackend = "memory"\n{INGEST}')
    for attempt in (plan, lambda pipeline: list(run(pipeline))):
        with pytest.raises(UnsupportedOperationError, match="'memory' has no place for what a pipeline remembers"):
            attempt(load(folder.path / "rest.toml"))


def test_a_renamed_step_is_known_again(folder: Folder) -> None:
    folder.run()
    assert folder.run(INGEST.replace('name = "ingest"', 'name = "load"'))["load"] == ("up to date", 0)
    assert folder.run(INGEST.replace("raw/*.csv", "raw/*"))["ingest"] == ("up to date", 0)


def test_rows_that_nobody_remembers_are_not_appended_to(folder: Folder) -> None:
    folder.run()
    with pytest.raises(InvalidInputError, match=r"other: step ingest: .* has 2 rows .* give it its old 'name'"):
        folder.run(name="other")
    assert folder.run(INGEST + 'mode = "overwrite"\n', name="other")["ingest"] == ("first run", 2)
    assert folder.ids("raw.orders") == [1, 2]


def test_two_steps_may_fill_one_table(folder: Folder) -> None:
    both = INGEST.replace("*", "m*") + INGEST.replace("*", "t*").replace('"ingest"\nkind', '"second"\nkind')
    folder.write("tue", "3,sofa")
    assert folder.run(both) == {"ingest": ("first run", 2), "second": ("first run", 1)}
    assert folder.ids("raw.orders") == [1, 2, 3]


def test_a_file_that_has_grown_is_refused(folder: Folder) -> None:
    folder.run()
    folder.write("mon", "1,lamp", "2,desk", "3,sofa")
    with pytest.raises(InvalidInputError, match=r"mon.csv' has changed since .* into a new file, or .* 'overwrite'"):
        folder.run()
    assert folder.run(INGEST + 'mode = "overwrite"\n')["ingest"] == ("changed", 3)
    assert folder.ids("raw.orders") == [1, 2, 3]


def test_a_file_that_was_away_is_not_taken_in_again(folder: Folder) -> None:
    folder.run()
    file = folder.path / "raw" / "mon.csv"
    file.rename(folder.path / "mon.csv")
    folder.write("tue", "3,sofa")
    folder.run()
    (folder.path / "mon.csv").rename(file)
    assert folder.run()["ingest"] == ("up to date", 0)


def test_a_table_that_was_dropped_is_filled_anew(folder: Folder) -> None:
    folder.run()
    with folder.namespace() as namespace:
        namespace.drop_table("raw.orders")
    assert folder.run()["ingest"] == ("first run", 2)
    assert folder.ids("raw.orders") == [1, 2]


def test_an_interrupted_import_of_files_that_are_gone_is_told(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.run()
    folder.write("tue", "3,sofa")
    with monkeypatch.context() as dying:
        dying.setattr(jobs, "import_files", die)
        with pytest.raises(KeyboardInterrupt):
            folder.run()
    with folder.namespace() as namespace:
        namespace.insert_into_table("raw.orders", [{"id": 9, "item": "mirror"}])
    (folder.path / "raw" / "tue.csv").unlink()
    with pytest.raises(InvalidInputError, match=r"was interrupted, and the table and .*tue.csv' have changed since"):
        folder.run()


def test_a_damaged_memory_is_told(folder: Folder) -> None:
    folder.run()
    folder.state.write_text("{")
    with pytest.raises(InvalidTableStateError, match=r"pipelines/orders.state/\d+.json .* is damaged .* restore it"):
        folder.run()
