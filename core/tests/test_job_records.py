"""What is kept of jobs, in memory and in a directory alike."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lancespace.connection import Connection
from lancespace.engines import Job, JobState, JobStatus, Result, Task, Work, owners, records
from lancespace.engines.files import JobFiles, MemoryFiles, StoredFiles
from lancespace.engines.ids import new_job_id
from lancespace.engines.records import JobRecords
from lancespace.engines.work import RunningJob
from lancespace.storage import local

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path


@pytest.fixture(params=["memory", "stored"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> JobFiles:
    if request.param == "memory":
        return MemoryFiles()
    return StoredFiles(Connection("memory", {}).storage(str(tmp_path / "a" / "jobs")))


@pytest.fixture
def kept(files: JobFiles) -> JobRecords:
    return JobRecords(files)


def status(**changes: Any) -> JobStatus:
    now = time.time()
    fresh = JobStatus(new_job_id(), "backfill", "t", JobState.RUNNING, created_at=now, updated_at=now, owner="host:1")
    return replace(fresh, **changes)


def one_by_one(
    function: Callable[[Task], Result], tasks: Iterable[Task], concurrency: int | None
) -> Generator[tuple[Task, Result], None, None]:
    """An engine without threads."""
    del concurrency
    for task in tasks:
        yield task, function(task)


class TestFiles:
    def test_nothing_is_there_before_it_is_written(self, files: JobFiles):
        assert files.read("job/record") is None
        assert files.names("job") == files.names("") == []
        files.delete("job")

    def test_replace_and_create(self, files: JobFiles):
        files.replace("job/record", b"1")
        files.replace("job/record", b"22")
        assert files.create("job/mark", b"first")
        assert not files.create("job/mark", b"second")
        assert (files.read("job/record"), files.read("job/mark")) == (b"22", b"first")
        assert (files.names("job"), files.names("")) == (["mark", "record"], ["job"])

    def test_delete_takes_all_below_and_nothing_beside(self, files: JobFiles):
        for path in ("job/a", "job/b/c", "jobs/a"):
            files.replace(path, b"x")
        files.delete("job")
        assert files.names("") == ["jobs"]

    def test_readers_never_see_half_a_file(self, files: JobFiles):
        contents = {b"a" * 100_000, b"b" * 200_000}
        seen: set[bytes | None] = set()
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                seen.add(files.read("job/record"))

        files.replace("job/record", b"a" * 100_000)
        reader = threading.Thread(target=read)
        reader.start()
        for content in [*contents] * 50:
            files.replace("job/record", content)
        stop.set()
        reader.join()
        assert seen <= contents

    def test_a_folder_is_deleted_while_others_write_to_it(self, files: JobFiles):
        def write(number: int) -> None:
            for count in range(200):
                files.replace(f"checkpoints/f/{number}-{count}", b"x")

        with ThreadPoolExecutor(3) as pool:
            writers = [pool.submit(write, number) for number in range(2)]
            while not all(writer.done() for writer in writers):
                pool.submit(files.delete, "checkpoints/f").result()
        files.delete("checkpoints/f")

        assert [writer.exception() for writer in writers] == [None, None]
        assert files.names("checkpoints/f") == []

    def test_a_folder_is_deleted_while_a_file_is_created_in_it(self, files: JobFiles, monkeypatch: pytest.MonkeyPatch):
        deleted: list[Path] = []
        real = local._link_into_place

        def late(target: Path, data: bytes) -> None:
            if not deleted:
                deleted.append(target)
                files.delete("checkpoints/f")
            real(target, data)

        monkeypatch.setattr(local, "_link_into_place", late)
        files.replace("checkpoints/f/one", b"x")

        assert files.create("checkpoints/f/claim.1", b"x")

        assert not files.create("checkpoints/f/claim.1", b"y")
        assert files.read("checkpoints/f/claim.1") == b"x"


class TestEqualJobs:
    def test_those_that_run_at_once_are_quiet(self, kept: JobRecords, caplog: pytest.LogCaptureFixture):
        """Each keeps and forgets the results of the same tasks."""
        together = threading.Barrier(4)

        def work(running: Work) -> None:
            together.wait()
            assert sum(result for _, result in running.map(int, range(20), key=str)) == 190

        for _ in range(5):
            jobs = [RunningJob(Job("backfill", "t", work, "f"), kept, one_by_one) for _ in range(4)]
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(RunningJob.run, jobs))
            found = [kept.load(job.status.job_id) for job in jobs]
            assert [one and one.state for one in found] == [JobState.SUCCEEDED] * 4

        assert caplog.text == ""
        assert kept.checkpoints("f") == {}


class TestRecords:
    def test_what_is_saved_is_loaded(self, kept: JobRecords):
        saved = status(rows=5, fraction=0.25, message="at it", started_at=1.5)
        kept.save(saved, "f")
        assert kept.load(saved.job_id) == saved

    def test_an_owner_that_is_silent_is_gone(self, kept: JobRecords):
        silent = status(updated_at=time.time() - owners.LAPSE * JobRecords.heartbeat - 1, message="half way")
        kept.save(silent, None)

        found = kept.load(silent.job_id)

        assert found is not None
        assert found.state is JobState.FAILED
        assert "host:1 has not been heard of" in found.message
        assert "send the request again" in found.message

    def test_an_owner_that_beats_seldom_is_given_time(self, kept: JobRecords, monkeypatch: pytest.MonkeyPatch):
        """How long to wait is in the record: what the reader is used to does not matter."""
        slow = status(updated_at=time.time() - 100)
        with monkeypatch.context() as patched:
            patched.setattr(JobRecords, "heartbeat", 60.0)
            kept.save(slow, None)

        assert kept.load(slow.job_id) == slow

    def test_what_is_over_needs_no_owner(self, kept: JobRecords):
        over = status(state=JobState.SUCCEEDED, updated_at=1.0)
        kept.save(over, None)
        assert kept.load(over.job_id) == over

    def test_job_ids_sort_by_time(self):
        first = new_job_id()
        time.sleep(0.002)
        assert first < new_job_id()

    def test_checkpoints_expire(self, kept: JobRecords, monkeypatch: pytest.MonkeyPatch):
        kept.keep("f", "key/with/slashes", {"rows": 1})
        assert kept.checkpoints("f") == {"key/with/slashes": {"rows": 1}}
        assert kept.checkpoints("other") == {}

        monkeypatch.setattr(records, "CHECKPOINT_DAYS", -1)
        assert kept.checkpoints("f") == {}

    def test_a_damaged_file_is_passed_over(
        self, kept: JobRecords, files: JobFiles, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(records, "_READS", 1)
        kept.keep("f", "whole", 1)
        files.replace("checkpoints/f/half.json", b'{"key": "ha')
        assert kept.checkpoints("f") == {"whole": 1}
        assert "checkpoints/f/half.json" in caplog.text

    def test_pruning_takes_the_checkpoints_along(self, kept: JobRecords, files: JobFiles):
        failed, running = status(state=JobState.FAILED), status()
        kept.save(failed, "f")
        kept.save(running, "g")
        kept.keep("f", "key", 1)
        kept.keep("g", "key", 1)

        kept.prune(0)

        assert files.names("") == sorted([running.job_id, "checkpoints"])
        assert (kept.checkpoints("f"), kept.checkpoints("g")) == ({}, {"key": 1})

    def test_results_that_are_too_old_do_not_pile_up(
        self, kept: JobRecords, files: JobFiles, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(records, "KEPT_CHECKPOINTS", 2)
        monkeypatch.setattr(records, "PRUNED_AT_ONCE", 5)
        old = f"{int((time.time() - 7 * 24 * 60 * 60) * 1000):012x}{'0' * 20}"
        kept.claim("claimed-long-ago", old)
        kept.claim("claimed", new_job_id())
        beside = f"f-{new_job_id()}"
        for fingerprint in ("claimed-long-ago", "claimed", beside, f"f-{old}", "nobody's"):
            kept.keep(fingerprint, "key", 1)

        kept.prune(1000)

        assert files.names("checkpoints") == ["claimed", beside]

    def test_two_that_follow_a_job_that_succeeded_never_share_its_place(
        self, kept: JobRecords, monkeypatch: pytest.MonkeyPatch
    ):
        """One is paused when it has seen that the job succeeded; meanwhile the other begins, and keeps a result."""
        done, other, paused = status(state=JobState.SUCCEEDED), status(), status()
        for one in (done, other, paused):
            kept.save(one, "f")
        kept.claim("f", done.job_id)
        real = JobRecords._has_succeeded

        def late(self: JobRecords, job_id: str) -> bool:
            monkeypatch.setattr(JobRecords, "_has_succeeded", real)
            found = real(self, job_id)
            claimed.append(kept.claim("f", other.job_id))
            kept.keep("f", "key", 1)
            return found

        claimed: list[str | None] = []
        monkeypatch.setattr(JobRecords, "_has_succeeded", late)
        claimed.append(kept.claim("f", paused.job_id))
        assert len([job_id for job_id in claimed if job_id is not None]) == 1

    def test_a_claim_that_was_paused_takes_nothing_from_a_later_job(self, kept: JobRecords, files: JobFiles):
        """Meanwhile the claims were dropped and begun anew, so the next number is free although a job runs."""
        other = new_job_id()
        create = files.create
        kept.claim("f", new_job_id())

        def create_late(path: str, data: bytes) -> bool:
            files.create = create  # type: ignore[method-assign] # once
            kept.forget("f")
            assert kept.claim("f", other) == other
            return create(path, data)

        files.create = create_late  # type: ignore[method-assign] # for the next claim
        assert kept.claim("f", new_job_id()) is None
        assert files.names("checkpoints/f") == ["claim.1"]
        assert files.read("checkpoints/f/claim.1") == other.encode()
