from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from lancespace.authoring import Connection, Job, JobState, JobStatus, Work, fingerprint
from lancespace_jobs import JobRecords, LocalEngine
from lancespace_jobs import _local as local_engine
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import MethodType

TIMEOUT = 30
"""Seconds after which a wait is a failure; nothing here takes that long."""


class Gate:
    """A job that halts in the middle until it is let through, and reports once it is."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def run(self, work: Work) -> None:
        work.report(0.5, "half way", 7)
        self.reached.set()
        assert self.opened.wait(TIMEOUT)
        work.report(0.9, "almost there")


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr(local_engine, "_TICK", 0.02)
    connection = Connection("memory", {})
    connection.use_engine()
    yield connection
    connection.close()


def submit(connection: Connection, run: Callable[[Work], Any], kind: str = "test", mark: str | None = None) -> str:
    job_id: str = connection.hooks.submit_job(job=Job(kind, "sales.orders", run, mark))
    return job_id


def describe(connection: Connection, job_id: str) -> JobStatus:
    status: JobStatus = connection.hooks.describe_job(job_id=job_id)
    return status


def engine_of(connection: Connection) -> LocalEngine:
    method: MethodType = connection.hooks.submit_job.get_hookimpls()[0].function  # type: ignore[assignment]
    assert isinstance(method.__self__, LocalEngine)
    return method.__self__


def run_to_the_end(connection: Connection, run: Callable[[Work], Any], mark: str | None = None) -> JobStatus:
    """The status of a job after it was started and is over."""
    job_id = submit(connection, run, mark=mark)
    return until(lambda: describe(connection, job_id), lambda status: status.state.is_final)


def test_job_runs_while_the_caller_goes_on(connection: Connection):
    gate = Gate()
    job_id = submit(connection, gate.run, "backfill")
    assert gate.reached.wait(TIMEOUT)

    status = describe(connection, job_id)
    assert (status.job_id, status.kind, status.about) == (job_id, "backfill", "sales.orders")
    assert (status.state, status.fraction, status.message, status.rows) == (JobState.RUNNING, 0.5, "half way", 7)
    assert status.started_at is not None
    assert status.created_at <= status.started_at <= status.updated_at
    assert status.owner

    gate.opened.set()


def test_job_that_returns_has_succeeded(connection: Connection):
    status = run_to_the_end(connection, lambda _: None)

    assert (status.state, status.fraction, status.message) == (JobState.SUCCEEDED, 1.0, "done")


def test_job_that_raises_has_failed_and_says_why(connection: Connection, caplog: pytest.LogCaptureFixture):
    def fail(_: Work) -> None:
        raise ValueError("no such column")

    status = run_to_the_end(connection, fail)

    assert (status.state, status.message) == (JobState.FAILED, "ValueError: no such column")
    logged = [record.exc_info for record in caplog.records if record.exc_info]
    assert [str(error) for _, error, _ in logged] == ["no such column"], "the log has the traceback"


def test_an_end_is_recorded_before_it_is_told(connection: Connection, monkeypatch: pytest.MonkeyPatch):
    """Whoever waits for it may begin a repeat at once, which looks into the record."""
    save, told = JobRecords.save, list[JobState]()

    def slow(self: JobRecords, status: JobStatus, mark: str | None) -> None:
        save(self, status, mark)
        if status.state.is_final:
            told.append(describe(connection, status.job_id).state)

    monkeypatch.setattr(JobRecords, "save", slow)
    assert run_to_the_end(connection, lambda _: None).state is JobState.SUCCEEDED
    assert told == [JobState.RUNNING]


def test_cancelled_job_stops_at_its_next_report(connection: Connection):
    gate = Gate()
    job_id = submit(connection, gate.run)
    assert gate.reached.wait(TIMEOUT)

    assert connection.hooks.cancel_job(job_id=job_id).state is JobState.RUNNING, "it has not stopped yet"
    gate.opened.set()
    connection.close()

    status = describe(connection, job_id)
    assert (status.state, status.fraction) == (JobState.CANCELED, 0.5)


def test_queued_job_that_is_cancelled_never_runs(connection: Connection):
    gates = [Gate(), Gate()]
    for gate in gates:
        submit(connection, gate.run)
        assert gate.reached.wait(TIMEOUT)
    ran: list[str] = []
    job_id = submit(connection, lambda _: ran.append("ran"))
    assert describe(connection, job_id).state is JobState.QUEUED

    connection.hooks.cancel_job(job_id=job_id)
    for gate in gates:
        gate.opened.set()
    connection.close()

    assert describe(connection, job_id).state is JobState.CANCELED
    assert ran == []


def test_cancelling_what_is_over_changes_nothing(connection: Connection):
    status = run_to_the_end(connection, lambda _: None)

    assert connection.hooks.cancel_job(job_id=status.job_id) == status
    assert describe(connection, status.job_id) == status


def test_close_stops_jobs_at_their_next_report(connection: Connection):
    started = threading.Event()

    def endless(work: Work) -> None:
        started.set()
        while True:
            work.report(0.1, "still at it")

    job_id = submit(connection, endless)
    assert started.wait(TIMEOUT)
    connection.close()

    assert describe(connection, job_id).state is JobState.CANCELED


@pytest.mark.parametrize(("reported", "shown"), [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)])
def test_fraction_stays_between_nothing_and_everything(connection: Connection, reported: float, shown: float):
    told, seen = threading.Event(), threading.Event()

    def report_once(work: Work) -> None:
        work.report(reported, "")
        told.set()
        assert seen.wait(TIMEOUT)

    job_id = submit(connection, report_once)
    assert told.wait(TIMEOUT)

    assert describe(connection, job_id).fraction == shown
    seen.set()


@pytest.mark.parametrize("job_id", ["nobody", "0" * 32, "../" + "0" * 29])
def test_unknown_job(connection: Connection, job_id: str):
    assert connection.hooks.describe_job(job_id=job_id) is None
    assert connection.hooks.cancel_job(job_id=job_id) is None
    assert connection.hooks.edit_job(job_id=job_id, edit=dict.clear) is None


def test_properties_are_kept_beside_what_the_job_tells(connection: Connection):
    status = run_to_the_end(connection, lambda _: None)

    assert connection.hooks.edit_job(job_id=status.job_id, edit=lambda kept: kept.update(a="1", b="2")).properties
    connection.hooks.edit_job(job_id=status.job_id, edit=lambda kept: kept.pop("a"))

    assert describe(connection, status.job_id).properties == {"b": "2"}


def test_edits_at_the_same_time_are_all_kept(connection: Connection):
    status = run_to_the_end(connection, lambda _: None)
    names = [f"n{number}" for number in range(20)]

    def keep(name: str) -> None:
        connection.hooks.edit_job(job_id=status.job_id, edit=lambda kept: kept.update({name: "x"}))

    threads = [threading.Thread(target=keep, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(describe(connection, status.job_id).properties) == sorted(names)


def test_records_of_finished_jobs_are_pruned_oldest_first(connection: Connection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_engine, "_KEPT", 2)
    jobs = [run_to_the_end(connection, lambda _: None).job_id for _ in range(4)]
    until(lambda: dict(engine_of(connection)._running), lambda running: not running)

    submit(connection, lambda _: None)

    known = [connection.hooks.describe_job(job_id=job_id) is not None for job_id in jobs]
    assert known == [False, False, True, True]


def test_records_of_running_jobs_are_never_pruned(connection: Connection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_engine, "_KEPT", 0)
    gate = Gate()
    job_id = submit(connection, gate.run)
    assert gate.reached.wait(TIMEOUT)

    submit(connection, lambda _: None)

    assert engine_of(connection)._records.load(job_id) is not None
    gate.opened.set()


@pytest.mark.parametrize("state", JobState)
def test_a_job_is_over_when_it_neither_waits_nor_runs(state: JobState):
    assert state.is_final is (state not in {JobState.QUEUED, JobState.RUNNING})


class TestMap:
    def test_results_of_all_tasks(self, connection: Connection):
        found: dict[int, int] = {}

        def squares(work: Work) -> None:
            found.update(work.map(lambda task: task * task, range(50), key=str, concurrency=3))

        assert run_to_the_end(connection, squares).state is JobState.SUCCEEDED
        assert found == {number: number * number for number in range(50)}

    def test_as_many_at_once_as_asked(self, connection: Connection):
        together = threading.Barrier(3)

        def meet(_: int) -> int:
            return together.wait(TIMEOUT)

        status = run_to_the_end(connection, lambda work: list(work.map(meet, range(6), key=str, concurrency=3)))

        assert status.state is JobState.SUCCEEDED, status.message

    def test_what_must_stay_on_the_driver_does(self, connection: Connection, monkeypatch: pytest.MonkeyPatch):
        """An engine that computes elsewhere is not asked, and the results are kept all the same."""
        tried: list[int] = []

        def task(number: int) -> int:
            tried.append(number)
            assert number < 3 or len(tried) > 4, "not yet"
            return number

        def elsewhere(*_: object) -> Any:
            raise AssertionError("it was sent away")

        def work(work: Work) -> None:
            found = work.map(task, range(4), key=str, concurrency=1, on_driver=True)
            assert sorted(result for _, result in found) == [0, 1, 2, 3]

        monkeypatch.setattr(engine_of(connection), "compute", elsewhere)
        assert "not yet" in run_to_the_end(connection, work, "m").message
        assert run_to_the_end(connection, work, "m").state is JobState.SUCCEEDED
        assert tried == [0, 1, 2, 3, 3]

    def test_progress_between_tasks(self, connection: Connection):
        seen: list[float] = []

        def watch(work: Work) -> None:
            assert known.wait(TIMEOUT)
            work.report(0.2, "planned")
            mapped = work.map(str, range(4), key=str, concurrency=1)
            seen.extend(describe(connection, job_id[0]).fraction for _ in mapped)

        known = threading.Event()
        job_id: list[str] = []
        job_id.append(submit(connection, watch))
        known.set()
        until(lambda: describe(connection, job_id[0]), lambda status: status.state.is_final)

        assert seen == pytest.approx([0.4, 0.6, 0.8, 1.0])

    def test_a_cancelled_job_begins_no_further_task(self, connection: Connection):
        gate, begun = Gate(), []

        def task(number: int) -> None:
            begun.append(number)
            gate.reached.set()
            assert gate.opened.wait(TIMEOUT)

        job_id = submit(connection, lambda work: list(work.map(task, range(9), key=str, concurrency=1)))
        assert gate.reached.wait(TIMEOUT)
        connection.hooks.cancel_job(job_id=job_id)
        gate.opened.set()
        connection.close()

        assert describe(connection, job_id).state is JobState.CANCELED
        assert begun == [0]

    @pytest.mark.parametrize("reports", [False, True], ids=["by the engine", "by the job"])
    def test_what_runs_when_a_job_is_cancelled_is_kept_for_a_repeat(self, connection: Connection, *, reports: bool):
        """Whoever notices it: tasks that are under way are finished, and counted as such."""
        gate, begun = Gate(), []
        three = threading.Barrier(3, gate.reached.set)

        def task(number: int) -> int:
            begun.append(number)
            if len(begun) <= 3:
                three.wait(TIMEOUT)
                assert number == 0 or gate.opened.wait(TIMEOUT)
            return number

        def job(work: Work) -> None:
            for _ in work.map(task, range(6), key=str, concurrency=3):
                if reports and not gate.opened.is_set():
                    connection.hooks.cancel_job(job_id=job_id[0])
                    gate.opened.set()
                    work.report(0.5, "a safe point")

        known, job_id = fingerprint("what runs"), list[str]()
        job_id.append(submit(connection, job, mark=known))
        assert gate.reached.wait(TIMEOUT)
        if not reports:
            connection.hooks.cancel_job(job_id=job_id[0])
            gate.opened.set()
        until(lambda: describe(connection, job_id[0]), lambda status: status.state.is_final)
        assert describe(connection, job_id[0]).state is JobState.CANCELED
        assert run_to_the_end(connection, job, known).state is JobState.SUCCEEDED
        assert sorted(begun) == list(range(6))

    def test_a_repeat_runs_only_what_is_missing(self, connection: Connection):
        ran: list[int] = []

        def task(number: int) -> list[int]:
            ran.append(number)
            if number == 2 and ran.count(2) == 1:
                raise ValueError("not yet")
            return [number]

        found: dict[int, Any] = {}

        def job(work: Work) -> None:
            found.update(work.map(task, range(4), key=str, concurrency=1))

        mark = fingerprint("the same work")
        assert run_to_the_end(connection, job, mark).state is JobState.FAILED
        assert run_to_the_end(connection, job, mark).state is JobState.SUCCEEDED
        assert ran == [0, 1, 2, 2, 3]
        assert found == {number: [number] for number in range(4)}

        assert run_to_the_end(connection, job, mark).state is JobState.SUCCEEDED
        assert len(ran) == 9, "a success needs its results no longer"

    def test_results_that_cannot_be_kept_are_refused(self, connection: Connection):
        status = run_to_the_end(connection, lambda work: list(work.map(type, [1], key=str)), fingerprint("any"))

        assert status.state is JobState.FAILED
        assert "JSON" in status.message
