"""Jobs: long work that an engine plugin runs while the caller goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


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
    state: JobState
    fraction: float = 0.0
    """How much is done, from 0 to 1."""
    message: str = ""
    """What it is doing, or why it failed."""


Report = Callable[[float, str], None]
"""What a job calls at its safe points: the fraction done and a word on it. It raises ``JobCanceled`` if the job is to
stop."""


class JobCanceled(Exception):  # noqa: N818 - a request, not an error
    """Raised inside a job by its report, at a safe point, after it was cancelled."""


@dataclass(frozen=True)
class Job:
    """A piece of long work."""

    kind: str
    """What messages and listings call it, e.g. ``backfill``."""
    run: Callable[[Report], None]
    """The work. It reports at its safe points, and leaves nothing half done if the report raises."""
