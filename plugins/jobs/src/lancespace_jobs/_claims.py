"""Which job goes on from what an earlier equal one has kept.

In the folder of a fingerprint::

    claim.first       the job that began
    claim.<job id>    the job that went on from that one, or "end": no job may any more
    <job id>/         the results of tasks: of the job that began, and of those that went on from it

Every name but the first is used once, so a deletion that comes late finds nothing of another job. The first is deleted
only while it names the job that was read.
"""

from __future__ import annotations

from dataclasses import dataclass

from lancespace_jobs._job_files import JobFiles

FIRST = "claim.first"
_CLAIM = "claim."
_END = "end"


@dataclass(frozen=True)
class Chain:
    """Equal jobs, each of which went on from the one before."""

    files: JobFiles
    folder: str
    jobs: tuple[str, ...] = ()
    has_ended: bool = False
    """Whether :meth:`end` was called: what is still there is to be deleted."""

    def read(self) -> Chain:
        """The chain as it is now."""
        jobs: list[str] = []
        while (found := self.files.read(self._after(jobs[-1] if jobs else None))) is not None:
            if found.decode() == _END:
                return Chain(self.files, self.folder, tuple(jobs), has_ended=True)
            jobs.append(found.decode())
        return Chain(self.files, self.folder, tuple(jobs))

    def join(self, job_id: str) -> bool:
        """Add a job; False if another one was faster, or if the chain has ended."""
        if not self.jobs:
            return self.files.create(f"{self.folder}/{FIRST}", job_id.encode())
        claim = self._after(self.jobs[-1])
        if not self.files.create(claim, job_id.encode()):
            return False
        if self.files.read(f"{self.folder}/{FIRST}") == self.jobs[0].encode():
            return True
        self.files.delete(claim)  # The chain has ended and is gone.
        return False

    def end(self) -> bool:
        """Delete the claims and the results; False, and nothing is deleted, if another job has joined."""
        claim = self._after(self.jobs[-1])
        if not self.files.create(claim, _END.encode()) and self.files.read(claim) != _END.encode():
            return False
        self.files.delete_unchanged(f"{self.folder}/{FIRST}", self.jobs[0].encode())
        self.files.delete(f"{self.folder}/{self.jobs[0]}")
        for job_id in self.jobs:
            self.files.delete(self._after(job_id))
        return True

    def _after(self, job_id: str | None) -> str:
        """Where it says which job comes after a job, or is the first."""
        return f"{self.folder}/{FIRST if job_id is None else _CLAIM + job_id}"
