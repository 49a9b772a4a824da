"""What is kept of jobs, in memory and in a directory alike."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from lancespace._storage import local
from lancespace.authoring import Connection, Job, JobState, JobStatus, Result, Task, Work
from lancespace_jobs import JobFiles, JobRecords, StoredFiles
from lancespace_jobs import _records as owners
from lancespace_jobs import _records as records
from lancespace_jobs._job_files import MemoryFiles
from lancespace_jobs._records import new_job_id
from lancespace_jobs._runner import RunningJob

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
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
    def test_those_that_run_at_once_are_quiet(
        self, kept: JobRecords, files: JobFiles, caplog: pytest.LogCaptureFixture
    ):
        """Each keeps and forgets results of its own."""
        together = threading.Barrier(4)

        def work(running: Work) -> None:
            together.wait()
            assert sum(result for _, result in running.map(int, range(20), key=str)) == 190

        for _ in range(5):
            jobs = [RunningJob(Job("backfill", "t", work, "f"), kept, one_by_one) for _ in range(4)]
            for job in jobs:
                job.write()
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(RunningJob.run, jobs))
            found = [kept.load(job.status.job_id) for job in jobs]
            assert [one and one.state for one in found] == [JobState.SUCCEEDED] * 4

        assert caplog.text == ""
        assert files.names("checkpoints/f") == []


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
        kept.keep("f", "first", "key/with/slashes", {"rows": 1})
        assert kept.checkpoints("f", "first") == {"key/with/slashes": {"rows": 1}}
        assert kept.checkpoints("f", "other") == kept.checkpoints("other", "first") == {}

        monkeypatch.setattr(records, "CHECKPOINT_DAYS", -1)
        assert kept.checkpoints("f", "first") == {}

    def test_a_damaged_file_is_passed_over(
        self, kept: JobRecords, files: JobFiles, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(records, "_READS", 1)
        kept.keep("f", "first", "whole", 1)
        files.replace("checkpoints/f/first/half.json", b'{"key": "ha')
        assert kept.checkpoints("f", "first") == {"whole": 1}
        assert "checkpoints/f/first/half.json" in caplog.text

    def test_pruning_takes_the_checkpoints_along(self, kept: JobRecords, files: JobFiles):
        failed, running = status(state=JobState.FAILED), status()
        for one, fingerprint in ((failed, "f"), (running, "g")):
            kept.save(one, fingerprint)
            assert kept.claim(fingerprint, one.job_id) == one.job_id
            kept.keep(fingerprint, one.job_id, "key", 1)

        kept.prune(0)

        assert files.names("") == sorted([running.job_id, "checkpoints"])
        assert files.names("checkpoints") == ["g"]
        assert kept.checkpoints("g", running.job_id) == {"key": 1}

    def test_results_that_are_too_old_do_not_pile_up(
        self, kept: JobRecords, files: JobFiles, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(records, "KEPT_CHECKPOINTS", 2)
        monkeypatch.setattr(records, "PRUNED_AT_ONCE", 5)
        old, running, new = old_id(), old_id(), new_job_id()
        kept.save(status(job_id=running), "of-one-that-runs")
        for fingerprint, job_id in (("old", old), ("of-one-that-runs", running), ("new", new)):
            kept.claim(fingerprint, job_id)
            kept.keep(fingerprint, job_id, "key", 1)
        kept.keep("new", old, "key", 1)  # Of one that ran beside another.
        kept.keep("beside", new, "key", 1)
        files.replace("checkpoints/of-an-earlier-release/claim.1", b"x")

        kept.prune(1000)

        assert files.names("checkpoints") == ["beside", "new", "of-one-that-runs"]
        assert files.names("checkpoints/new") == sorted(["claim.first", new])


def old_id() -> str:
    """The id of a job that began a week ago."""
    return f"{int((time.time() - 7 * 24 * 60 * 60) * 1000):012x}{new_job_id()[12:]}"


class Paused:
    """Has others act before or after the n-th access of this thread to the files."""

    def __init__(self, files: JobFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        self._act: Callable[[], object] = list
        for name in ("read", "replace", "create", "names", "delete", "delete_unchanged"):
            monkeypatch.setattr(files, name, self._around(getattr(files, name)))

    def moments(self) -> Iterator[int]:
        """All moments, until one was not reached."""
        for moment in itertools.count(1):
            yield moment
            if self._left > 0:
                assert moment > 4
                return

    def at(self, moment: int, act: Callable[[], object]) -> None:
        """Have others act at a moment from now."""
        self._left, self._act = moment, act

    @property
    def has_paused(self) -> bool:
        """Whether the others have acted."""
        return self._left <= 0

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def pausing(*arguments: Any) -> Any:
            self._tick()
            try:
                return call(*arguments)
            finally:
                self._tick()

        return pausing

    def _tick(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


@pytest.fixture
def paused(files: JobFiles, monkeypatch: pytest.MonkeyPatch) -> Paused:
    return Paused(files, monkeypatch)


class TestPauses:
    """A job is paused at any point, and an equal one begins meanwhile, which is not over."""

    def other(self, kept: JobRecords, fingerprint: str) -> tuple[JobStatus, list[str]]:
        """An equal job that runs, and whose results it goes on from, once it has begun."""
        other, first = status(), list[str]()
        kept.save(other, fingerprint)
        return other, first

    def begin(self, kept: JobRecords, fingerprint: str, other: JobStatus, first: list[str]) -> None:
        """Claim the place, if it can be had, and keep a result."""
        first.append(kept.claim(fingerprint, other.job_id) or other.job_id)
        kept.keep(fingerprint, first[0], "of the other", 1)

    def check(self, kept: JobRecords, fingerprint: str, first: list[str]) -> None:
        """The results of the other job are there, and no third one gets at them while it runs."""
        third = status()
        kept.save(third, fingerprint)
        assert "of the other" in kept.checkpoints(fingerprint, first[0])
        assert kept.claim(fingerprint, third.job_id) != first[0]
        assert "of the other" in kept.checkpoints(fingerprint, first[0])

    @pytest.mark.parametrize("state", [JobState.FAILED, JobState.SUCCEEDED])
    def test_what_an_equal_job_keeps_is_not_deleted(self, kept: JobRecords, paused: Paused, state: JobState):
        for moment in paused.moments():
            fingerprint = f"f{moment}"
            done = status(state=state)
            kept.save(done, fingerprint)
            kept.claim(fingerprint, done.job_id)
            kept.keep(fingerprint, done.job_id, "key", 1)
            other, first = self.other(kept, fingerprint)
            paused.at(moment, partial(self.begin, kept, fingerprint, other, first))
            kept.release(fingerprint, done.job_id)
            if paused.has_paused:
                self.check(kept, fingerprint, first)

    @pytest.mark.parametrize("state", [JobState.FAILED, JobState.SUCCEEDED])
    def test_two_never_share_a_place(self, kept: JobRecords, paused: Paused, state: JobState):
        for moment in paused.moments():
            fingerprint = f"f{moment}"
            done, mine = status(state=state), status()
            kept.save(done, fingerprint)
            kept.save(mine, fingerprint)
            kept.claim(fingerprint, done.job_id)
            other, first = self.other(kept, fingerprint)
            paused.at(moment, partial(self.begin, kept, fingerprint, other, first))
            claimed = kept.claim(fingerprint, mine.job_id) or mine.job_id
            if paused.has_paused:
                assert claimed != first[0]
                self.check(kept, fingerprint, first)

    def test_a_claim_that_was_paused_takes_nothing_from_a_later_job(self, kept: JobRecords, paused: Paused):
        """Meanwhile what was kept is given up, and a later job begins."""
        for moment in paused.moments():
            fingerprint = f"f{moment}"
            failed, mine = status(state=JobState.FAILED), status()
            kept.save(failed, fingerprint)
            kept.save(mine, fingerprint)
            kept.claim(fingerprint, failed.job_id)
            kept.keep(fingerprint, failed.job_id, "of the first", 1)
            other, first = self.other(kept, fingerprint)

            def begin_anew(
                fingerprint: str = fingerprint,
                failed: JobStatus = failed,
                other: JobStatus = other,
                first: list[str] = first,
            ) -> None:
                kept.release(fingerprint, failed.job_id)
                self.begin(kept, fingerprint, other, first)

            paused.at(moment, begin_anew)
            claimed = kept.claim(fingerprint, mine.job_id) or mine.job_id
            if paused.has_paused:
                assert claimed != first[0]
                assert claimed == mine.job_id or "of the first" in kept.checkpoints(fingerprint, claimed)
                self.check(kept, fingerprint, first)

    def test_pruning_spares_a_job_that_begins_meanwhile(
        self, kept: JobRecords, paused: Paused, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(records, "KEPT_CHECKPOINTS", 0)
        monkeypatch.setattr(records, "PRUNED_AT_ONCE", 1)
        for moment in paused.moments():
            fingerprint = f"f{moment}"
            failed = status(state=JobState.FAILED, job_id=old_id())
            kept.claim(fingerprint, failed.job_id)
            kept.keep(fingerprint, failed.job_id, "key", 1)
            other, first = self.other(kept, fingerprint)
            paused.at(moment, partial(self.begin, kept, fingerprint, other, first))
            kept.prune(1000)
            if paused.has_paused:
                self.check(kept, fingerprint, first)
                kept.forget_results_of(other.job_id)

    def test_an_end_that_was_interrupted_is_finished_by_the_next(self, kept: JobRecords, files: JobFiles):
        done, mine = status(state=JobState.SUCCEEDED), status()
        kept.save(done, "f")
        kept.claim("f", done.job_id)
        kept.keep("f", done.job_id, "key", 1)
        files.create(f"checkpoints/f/claim.{done.job_id}", b"end")

        assert kept.claim("f", mine.job_id) == mine.job_id
        assert files.names("checkpoints/f") == ["claim.first"]
