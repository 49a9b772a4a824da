"""Jobs end, whatever happens in them."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from lancespace.authoring import Job, Work, fingerprint
from lancespace_jobs import JobFailedError, submit

if TYPE_CHECKING:
    from lancespace import Namespace


def leave(_: object) -> None:
    sys.exit(3)


def leave_in_a_task(work: Work) -> None:
    list(work.map(leave, [1], key=str))


@pytest.mark.parametrize("run", [leave, leave_in_a_task])
def test_a_job_that_would_end_the_process_has_failed(ns: Namespace, run: object) -> None:
    with pytest.raises(JobFailedError, match="SystemExit: 3"):
        submit(ns, Job("leave", "t", run)).wait()  # type: ignore[arg-type]


def test_a_job_after_one_that_succeeded_begins_anew_and_a_repeat_goes_on(ns: Namespace) -> None:
    marks: list[tuple[str, bool]] = []
    outcomes = iter([OSError("died"), None, OSError("died"), None])

    def run(work: Work) -> None:
        marks.append((work.mark, work.is_repeat))
        if (error := next(outcomes)) is not None:
            raise error

    for _ in range(2):
        with pytest.raises(JobFailedError, match="died"):
            submit(ns, Job("some", "t", run, fingerprint("some"))).wait()
        submit(ns, Job("some", "t", run, fingerprint("some"))).wait()
    (first, again, other, other_again) = marks
    assert (first[0], other[0]) == (again[0], other_again[0])
    assert first[0] != other[0]
    assert [is_repeat for _, is_repeat in marks] == [False, True, False, True]


def test_what_other_tasks_do_while_one_fails_is_kept(ns: Namespace) -> None:
    both = threading.Barrier(2, timeout=60)
    done: list[int] = []
    is_broken = [True]

    def task(number: int) -> int:
        if is_broken:
            both.wait()
            if number == 0:
                raise OSError("died")
            time.sleep(0.2)
        done.append(number)
        return number

    def run(work: Work) -> None:
        assert {result for _, result in work.map(task, [0, 1], key=str, concurrency=2)} == {0, 1}

    job = Job("some", "t", run, fingerprint("some"))
    with pytest.raises(JobFailedError, match="died"):
        submit(ns, job).wait()
    is_broken.clear()
    submit(ns, job).wait()
    assert sorted(done) == [0, 1]
