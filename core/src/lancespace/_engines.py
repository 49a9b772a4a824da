"""Jobs: long work that an engine plugin runs while the caller goes on.

A :class:`Job` is driver code. It plans tasks, has the engine run them with :meth:`Work.map` wherever that computes, and
commits once. What it did is kept in the catalog, so another process can ask for it, and a repeat goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class JobState(str, Enum):
    """The spec's transaction states."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"

    @property
    def is_final(self) -> bool:
        """Whether the job is over."""
        return self in {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELED}


@dataclass(frozen=True)
class JobStatus:
    """How a job is doing."""

    job_id: str
    kind: str
    about: str
    state: JobState = JobState.QUEUED
    fraction: float = 0.0
    """How much is done, from 0 to 1."""
    message: str = ""
    """What it is doing, or why it failed."""
    rows: int | None = None
    """How many rows are done; None as long as the job has not said."""
    created_at: float = 0.0
    """When it was submitted, in seconds since 1970, as the other times."""
    started_at: float | None = None
    updated_at: float = 0.0
    """When it last changed or, while it runs, showed that it is alive."""
    owner: str = ""
    """The host and process that runs it."""
    creator: str = ""
    """Who started it, if that is known: it has the rights that they have when it begins."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What ``alter_transaction`` has set."""

    @property
    def rate(self) -> float | None:
        """Rows per second since the start; None as long as that is not known."""
        if self.rows is None or self.started_at is None or self.updated_at <= self.started_at:
            return None
        return self.rows / (self.updated_at - self.started_at)


class Work(Protocol):
    """What a running job is given: the way to tell how it is doing, and the engine's hands."""

    @property
    def mark(self) -> str:
        """A name for what the job leaves in storage until it is done.

        A repeat of a job that failed has the same and finds it; two jobs that run at once never have, even if they are
        equal, and neither have two of which the first succeeded.
        """
        ...

    @property
    def is_repeat(self) -> bool:
        """Whether an equal job has begun the same and did not succeed, as far as is known."""
        ...

    def report(self, fraction: float, message: str, rows: int | None = None) -> None:
        """Say how far the job is: a safe point.

        Raises:
            JobCanceled: If the job is to stop. It must leave nothing half done.
        """

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        key: Callable[[Task], str],
        is_there: Callable[[Result], bool] | None = None,
        concurrency: int | None = None,
        on_driver: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        """Run a function over tasks wherever the engine computes; results come as they are ready, in any order.

        The function may run in another process: it and the tasks must pickle, so it is a top-level one, and a task
        says how to open a table instead of holding an open one. If the job has a fingerprint, results are kept under
        their key until the job succeeds; a repeat is given them and runs only what is missing. They must be values
        that JSON has, as a pickle in a catalog would be code of whoever can write there. A result that speaks of files
        is used again only if ``is_there`` finds them: somebody may have cleaned up, or dropped the table.
        ``on_driver`` is for a function that hands its task to others itself, and has to be in this process for that.

        Between tasks it reports progress, and raises ``JobCanceled`` if the job is to stop.
        """
        ...


@dataclass(frozen=True)
class Job:
    """A piece of long work."""

    kind: str
    """What messages and listings call it, e.g. ``backfill``."""
    about: str
    """The table or view that it works on, as a person writes it."""
    run: Callable[[Work], None]
    """The work, on the driver."""
    fingerprint: str | None = None
    """Equal for a repeat of the same work, which finds the results that are kept by it; see :func:`fingerprint`."""


def fingerprint(*parts: Any) -> str:
    """A fingerprint, or a key of a task, of whatever makes it this one: JSON values."""
    import hashlib
    import json

    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
