"""What is kept of jobs, so that another process can ask for one, cancel it, or go on with it.

Below the backend's place for jobs::

    <job id>/record.json        the status; written by the owner alone, at most once a second
    <job id>/cancel             a mark: somebody asks the owner to stop
    <job id>/properties.<n>     what alter_transaction has set; the highest number counts
    checkpoints/<fingerprint>/<digest of the key>.json    the results of finished tasks
    checkpoints/<fingerprint>/claim.<n>                   the job that they are of; the highest number counts
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lancespace.engines import JobState, JobStatus
from lancespace.engines import fingerprint as digest
from lancespace.engines.ids import began, is_job_id
from lancespace.engines.owners import status_of

if TYPE_CHECKING:
    from lancespace.engines.files import JobFiles

CHECKPOINT_DAYS = 6
"""How long results of tasks are good for: after a week, Lance's clean-up takes files that no version refers to."""
PRUNED_AT_ONCE = 20
KEPT_CHECKPOINTS = 100
"""Of how many jobs that did not succeed results may lie about, however old."""

_log = logging.getLogger(__name__)

Edit = Callable[[dict[str, str]], None]
"""Changes the properties of a job in place, or raises."""

_CHECKPOINTS = "checkpoints"
_CLAIM = "claim."
_READS = 5


class JobRecords:
    """Reads and writes the records; it holds no state of its own."""

    heartbeat = 10.0
    """Seconds after which an owner writes a record again, even if nothing has changed."""

    def __init__(self, files: JobFiles) -> None:
        self._files = files

    def save(self, status: JobStatus, fingerprint: str | None) -> None:
        """Write the record; only the owner of the job does."""
        record = asdict(replace(status, properties={})) | {"fingerprint": fingerprint, "heartbeat": self.heartbeat}
        self._files.replace(f"{status.job_id}/record.json", json.dumps(record).encode())

    def load(self, job_id: str) -> JobStatus | None:
        """The job as its owner last wrote it, or FAILED if the owner is gone; None if nobody knows the id."""
        record = self._record(job_id) if is_job_id(job_id) else None
        return None if record is None else replace(status_of(record), properties=self.properties(job_id))

    def latest(self, count: int) -> list[str]:
        """The ids of so many jobs, the latest first."""
        return sorted(filter(is_job_id, self._files.names("")), reverse=True)[:count]

    def properties(self, job_id: str) -> dict[str, str]:
        """What was set."""
        return self._numbered_properties(job_id)[1]

    def edit_properties(self, job_id: str, edit: Edit) -> None:
        """Change the properties: all that ``edit`` does or, if it raises, nothing, whoever else edits them."""
        while True:
            number, properties = self._numbered_properties(job_id)
            edit(properties)
            if self._files.create(f"{job_id}/properties.{number + 1}", json.dumps(properties).encode()):
                return

    def ask_to_cancel(self, job_id: str) -> None:
        """Leave the mark that the owner looks for."""
        self._files.create(f"{job_id}/cancel", b"cancel")

    def is_to_cancel(self, job_id: str) -> bool:
        """Whether somebody left the mark."""
        return self._files.read(f"{job_id}/cancel") is not None

    def claim(self, fingerprint: str, job_id: str) -> str | None:
        """Take over what is kept for a fingerprint, and tell which job began it; None if that still runs.

        What a job has left that succeeded is of no use to the next one, which begins anew.
        """
        folder = f"{_CHECKPOINTS}/{fingerprint}"
        latest = self._latest_claim(fingerprint)
        holder = None if latest == 0 else self._files.read(f"{folder}/{_CLAIM}{latest}")
        if holder is not None and not self._is_over(holder.decode()):
            return None
        mine = f"{folder}/{_CLAIM}{latest + 1}"
        if not self._files.create(mine, job_id.encode()):
            return None
        if latest and self._files.read(f"{folder}/{_CLAIM}{latest}") != holder:
            self._files.delete(mine)  # While this job was paused, others ended and one more began: numbers anew.
            return None
        if holder is not None and self._has_succeeded(holder.decode()):
            self._begin_anew(fingerprint, latest)
        first = self._files.read(f"{folder}/{_CLAIM}{min(self._claims(fingerprint), default=1)}")
        return job_id if first is None else first.decode()

    def _begin_anew(self, fingerprint: str, latest: int) -> None:
        """Drop the results, and the claims up to a number; a claim after them stays, so a pause does no harm."""
        folder = f"{_CHECKPOINTS}/{fingerprint}"
        for name in self._files.names(folder):
            if name.endswith(".json"):
                self._files.delete(f"{folder}/{name}")
        for number in self._claims(fingerprint):
            if number <= latest:
                self._files.delete(f"{folder}/{_CLAIM}{number}")

    def _claims(self, fingerprint: str) -> list[int]:
        names = self._files.names(f"{_CHECKPOINTS}/{fingerprint}")
        return [int(name[len(_CLAIM) :]) for name in names if name.startswith(_CLAIM)]

    def _latest_claim(self, fingerprint: str) -> int:
        return max(self._claims(fingerprint), default=0)

    def _has_succeeded(self, job_id: str) -> bool:
        record = self._record(job_id)
        return record is not None and record["state"] == JobState.SUCCEEDED.value

    def _is_over(self, job_id: str) -> bool:
        """Whether a job has ended, or its owner has."""
        record = self._record(job_id)
        return record is None or status_of(record).state.is_final

    def checkpoints(self, fingerprint: str) -> Mapping[str, Any]:
        """The results that are kept for a fingerprint, by key."""
        folder = f"{_CHECKPOINTS}/{fingerprint}"
        kept = (self._json(f"{folder}/{name}") for name in self._files.names(folder) if name.endswith(".json"))
        oldest = time.time() - CHECKPOINT_DAYS * 24 * 60 * 60
        return {one["key"]: one["result"] for one in kept if one is not None and one["at"] > oldest}

    def keep(self, fingerprint: str, key: str, result: Any) -> None:
        """Keep the result of a task.

        Raises:
            TypeError: If it is not a value that JSON has.
        """
        checkpoint = {"key": key, "at": time.time(), "result": result}
        name = f"{_CHECKPOINTS}/{fingerprint}/{digest(key)}.json"
        self._files.replace(name, json.dumps(checkpoint).encode())

    def forget(self, fingerprint: str) -> None:
        """Drop what is kept for a fingerprint."""
        self._files.delete(f"{_CHECKPOINTS}/{fingerprint}")

    def release(self, fingerprint: str, job_id: str) -> None:
        """Drop what a job has kept, unless an equal one has claimed the place since: then it is of that one."""
        latest = self._latest_claim(fingerprint)
        holder = self._files.read(f"{_CHECKPOINTS}/{fingerprint}/{_CLAIM}{latest}") if latest else None
        if holder is None or holder.decode() == job_id:
            self.forget(fingerprint)

    def forget_results_of(self, job_id: str) -> None:
        """Drop what is kept of a job's tasks, if it is known: for who takes away the files that they wrote."""
        record = self._record(job_id)
        if record is not None and record["fingerprint"]:
            self.forget(record["fingerprint"])

    def prune(self, kept: int) -> None:
        """Delete the oldest records of jobs that are over, and their checkpoints, if there are more than ``kept``.

        A few at a time: this is on the way of whoever submits a job.
        """
        known = [name for name in self._files.names("") if is_job_id(name)]
        for job_id in known[: max(0, len(known) - kept)][:PRUNED_AT_ONCE]:
            record = self._record(job_id)
            if record is not None and not status_of(record).state.is_final:
                continue
            self.forget_results_of(job_id)
            self._files.delete(job_id)
        self._prune_checkpoints()

    def _prune_checkpoints(self) -> None:
        """Delete results that are too old to be used again: of some of them, if there are many."""
        known = self._files.names(_CHECKPOINTS)
        for fingerprint in random.sample(known, PRUNED_AT_ONCE) if len(known) > KEPT_CHECKPOINTS else ():
            claim = self._files.read(f"{_CHECKPOINTS}/{fingerprint}/{_CLAIM}{self._latest_claim(fingerprint)}")
            holder = fingerprint.rpartition("-")[2] if claim is None else claim.decode()
            if not is_job_id(holder) or began(holder) < time.time() - CHECKPOINT_DAYS * 24 * 60 * 60:
                self.forget(fingerprint)

    def _record(self, job_id: str) -> Any:
        """The record of a job; one that is not as we write them counts as none."""
        record = self._json(f"{job_id}/record.json")
        if record is None:
            return None
        try:
            status_of(record)
        except (LookupError, TypeError, ValueError):
            _log.warning("The record of the job %s is damaged, and passed over", job_id)
            return None
        return record

    def _numbered_properties(self, job_id: str) -> tuple[int, dict[str, str]]:
        names = (name.partition(".") for name in self._files.names(job_id))
        latest = max((int(number) for name, _, number in names if name == "properties" and number.isdigit()), default=0)
        return latest, (self._json(f"{job_id}/properties.{latest}") or {}) if latest else {}

    def _json(self, path: str) -> Any:
        """The content of a file, None if there is none; a store that writes in place may show half of one at first."""
        for _ in range(_READS):
            data = self._files.read(path)
            try:
                return None if data is None else json.loads(data)
            except ValueError:
                time.sleep(0.05)
        _log.warning("%s in the records of jobs is damaged, and passed over", path)
        return None
