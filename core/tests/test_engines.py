from __future__ import annotations

import threading
from types import MethodType
from typing import TYPE_CHECKING

import pytest

from lancespace.connection import Connection
from lancespace.engines import Job, JobState, JobStatus, Report
from lancespace.engines import local as local_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT = 30
"""Seconds after which a wait is a failure; nothing here takes that long."""


class Gate:
    """A job that halts in the middle until it is let through, and reports once it is."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def run(self, report: Report) -> None:
        report(0.5, "half way")
        self.reached.set()
        assert self.opened.wait(TIMEOUT)
        report(0.9, "almost there")


@pytest.fixture
def connection() -> Iterator[Connection]:
    connection = Connection("memory", {})
    connection.use_engine()
    yield connection
    connection.close()


def submit(connection: Connection, run: object, kind: str = "test") -> str:
    job_id: str = connection.hooks.submit_job(job=Job(kind, run))  # type: ignore[arg-type]
    return job_id


def describe(connection: Connection, job_id: str) -> JobStatus:
    status: JobStatus = connection.hooks.describe_job(job_id=job_id)
    return status


def run_to_the_end(connection: Connection, run: object) -> JobStatus:
    """The status of a job after it was started and is over."""
    started = threading.Event()

    def noticed(report: Report) -> None:
        started.set()
        run(report)  # type: ignore[operator]

    job_id = submit(connection, noticed)
    assert started.wait(TIMEOUT)
    connection.close()  # Waits for running jobs.
    return describe(connection, job_id)


def test_job_runs_while_the_caller_goes_on(connection: Connection):
    gate = Gate()
    job_id = submit(connection, gate.run, "backfill")
    assert gate.reached.wait(TIMEOUT)

    assert describe(connection, job_id) == JobStatus(job_id, "backfill", JobState.RUNNING, 0.5, "half way")

    gate.opened.set()


def test_job_that_returns_has_succeeded(connection: Connection):
    status = run_to_the_end(connection, lambda report: None)  # noqa: ARG005 - what a job takes

    assert (status.state, status.fraction, status.message) == (JobState.SUCCEEDED, 1.0, "done")


def test_job_that_raises_has_failed_and_says_why(connection: Connection, caplog: pytest.LogCaptureFixture):
    def fail(report: Report) -> None:  # noqa: ARG001 - what a job takes
        raise ValueError("no such column")

    status = run_to_the_end(connection, fail)

    assert (status.state, status.message) == (JobState.FAILED, "ValueError: no such column")
    assert "ValueError: no such column" in caplog.text, "the log has the traceback"


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
    job_id = submit(connection, lambda report: ran.append("ran"))  # noqa: ARG005 - what a job takes
    assert describe(connection, job_id).state is JobState.QUEUED

    connection.hooks.cancel_job(job_id=job_id)
    for gate in gates:
        gate.opened.set()
    connection.close()

    assert describe(connection, job_id).state is JobState.CANCELED
    assert ran == []


def test_cancelling_what_is_over_changes_nothing(connection: Connection):
    status = run_to_the_end(connection, lambda report: None)  # noqa: ARG005 - what a job takes

    assert connection.hooks.cancel_job(job_id=status.job_id) == status
    assert describe(connection, status.job_id) == status


def test_close_stops_jobs_at_their_next_report(connection: Connection):
    def endless(report: Report) -> None:
        while True:
            report(0.1, "still at it")

    assert run_to_the_end(connection, endless).state is JobState.CANCELED


@pytest.mark.parametrize(("reported", "shown"), [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)])
def test_fraction_stays_between_nothing_and_everything(connection: Connection, reported: float, shown: float):
    told, seen = threading.Event(), threading.Event()

    def report_once(report: Report) -> None:
        report(reported, "")
        told.set()
        assert seen.wait(TIMEOUT)

    job_id = submit(connection, report_once)
    assert told.wait(TIMEOUT)

    assert describe(connection, job_id).fraction == shown
    seen.set()


def test_unknown_job(connection: Connection):
    assert connection.hooks.describe_job(job_id="nobody") is None
    assert connection.hooks.cancel_job(job_id="nobody") is None


def test_finished_jobs_are_forgotten_oldest_first(connection: Connection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_engine, "_KEPT", 2)
    method = connection.hooks.submit_job.get_hookimpls()[0].function
    assert isinstance(method, MethodType)
    engine = method.__self__
    assert isinstance(engine, local_engine.LocalEngine)
    engine._jobs = {name: JobStatus(name, "test", JobState.SUCCEEDED) for name in ("oldest", "old", "recent")}
    gate = Gate()

    submit(connection, gate.run)

    assert connection.hooks.describe_job(job_id="oldest") is None
    assert describe(connection, "recent").state is JobState.SUCCEEDED
    gate.opened.set()


@pytest.mark.parametrize("state", JobState)
def test_a_job_is_over_when_it_neither_waits_nor_runs(state: JobState):
    assert state.is_final is (state not in {JobState.QUEUED, JobState.RUNNING})
