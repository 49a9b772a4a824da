"""What is kept of jobs, so that another process can ask for one, cancel it, or go on with it.

Below the backend's place for jobs::

    <job id>/record.json        the status; written by the owner alone, at most once a second
    <job id>/cancel             a mark: the owner is asked to stop
    <job id>/properties.<n>     what alter_transaction has set; the highest number counts
    checkpoints/<fingerprint>/<job id>/<digest of the key>.json    the results of finished tasks
    checkpoints/<fingerprint>/claim.…                              the jobs that they are of: see :mod:`.claims`
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from lancespace.authoring import JobState, JobStatus
from lancespace.authoring import fingerprint as digest
from lancespace_jobs._claims import FIRST, Chain
from lancespace_jobs._job_files import JobFiles

CHECKPOINT_DAYS = 6
"""How long results of tasks are good for: after a week, Lance's clean-up takes files that no version refers to."""
PRUNED_AT_ONCE = 20
KEPT_CHECKPOINTS = 100
"""Of how many jobs that did not succeed results may lie about, however old."""

_log = logging.getLogger(__name__)

Edit = Callable[[dict[str, str]], None]
"""Changes the properties of a job in place, or raises."""

_CHECKPOINTS = "checkpoints"
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
        """The ids of the latest ``count`` jobs, the latest first."""
        return sorted(filter(is_job_id, self._files.names("")), reverse=True)[:count]

    def properties(self, job_id: str) -> dict[str, str]:
        """What was set."""
        return self._numbered_properties(job_id)[1]

    def edit_properties(self, job_id: str, edit: Edit) -> None:
        """Change the properties: all that ``edit`` does or, if it raises, nothing, also while others edit them."""
        while True:
            number, properties = self._numbered_properties(job_id)
            edit(properties)
            if self._files.create(f"{job_id}/properties.{number + 1}", json.dumps(properties).encode()):
                return

    def ask_to_cancel(self, job_id: str) -> None:
        """Leave the mark that the owner looks for."""
        self._files.create(f"{job_id}/cancel", b"cancel")

    def is_to_cancel(self, job_id: str) -> bool:
        """Whether the mark is there."""
        return self._files.read(f"{job_id}/cancel") is not None

    def claim(self, fingerprint: str, job_id: str) -> str | None:
        """Take over what is kept for a fingerprint, and tell which job began it; None if that still runs.

        What a job has left that succeeded is of no use to the next one, which begins anew.
        """
        chain = self._chain(fingerprint)
        if chain.jobs and not (chain.has_ended or self._is_over(chain.jobs[-1])):
            return None
        if chain.jobs and (chain.has_ended or self._has_succeeded(chain.jobs[-1])):
            if not chain.end():
                return None
            chain = Chain(chain.files, chain.folder)
        return [*chain.jobs, job_id][0] if chain.join(job_id) else None

    def _chain(self, fingerprint: str) -> Chain:
        return Chain(self._files, f"{_CHECKPOINTS}/{fingerprint}").read()

    def _has_succeeded(self, job_id: str) -> bool:
        record = self._record(job_id)
        return record is not None and record["state"] == JobState.SUCCEEDED.value

    def _is_over(self, job_id: str) -> bool:
        """Whether a job has ended, or its owner has."""
        record = self._record(job_id)
        return record is None or status_of(record).state.is_final

    def checkpoints(self, fingerprint: str, first: str) -> Mapping[str, Any]:
        """The results by key that were kept since the job ``first`` began."""
        folder = f"{_CHECKPOINTS}/{fingerprint}/{first}"
        kept = (self._json(f"{folder}/{name}") for name in self._files.names(folder) if name.endswith(".json"))
        oldest = time.time() - CHECKPOINT_DAYS * 24 * 60 * 60
        return {one["key"]: one["result"] for one in kept if one is not None and one["at"] > oldest}

    def keep(self, fingerprint: str, first: str, key: str, result: Any) -> None:
        """Keep the result of a task.

        Raises:
            TypeError: If it is not a value that JSON has.
        """
        checkpoint = {"key": key, "at": time.time(), "result": result}
        name = f"{_CHECKPOINTS}/{fingerprint}/{first}/{digest(key)}.json"
        self._files.replace(name, json.dumps(checkpoint).encode())

    def release(self, fingerprint: str, job_id: str) -> str | None:
        """Drop what a job has kept, and tell the job's mark; None, if an equal job goes on from it."""
        chain = self._chain(fingerprint)
        if job_id not in chain.jobs:  # It ran beside the jobs of the chain, and kept its results for itself.
            chain = Chain(chain.files, chain.folder, (job_id,))
        is_released = chain.jobs[-1] == job_id and chain.end()
        return f"{fingerprint}-{chain.jobs[0]}" if is_released else None

    def forget_results_of(self, job_id: str) -> str | None:
        """Do as :meth:`release` does for a job, if it is known: for a caller who deletes the files of its tasks."""
        record = self._record(job_id)
        return None if record is None or not record["fingerprint"] else self.release(record["fingerprint"], job_id)

    def prune(self, kept: int) -> None:
        """Delete the oldest records of jobs that are over, and their checkpoints, if there are more than ``kept``.

        A few at a time: a caller that submits a job waits for it.
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
            chain = self._chain(fingerprint)
            if chain.jobs and self._is_outdated(chain.jobs[-1]):
                chain.end()
            for name in self._files.names(chain.folder):
                job_id = name.rpartition(".")[2]
                if name != FIRST and job_id not in chain.jobs and self._is_outdated(job_id):
                    self._files.delete(f"{chain.folder}/{name}")

    def _is_outdated(self, job_id: str) -> bool:
        """Whether a job is over, and began so long ago that its results are too old."""
        oldest = time.time() - CHECKPOINT_DAYS * 24 * 60 * 60
        return not is_job_id(job_id) or (began(job_id) < oldest and self._is_over(job_id))

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


LAPSE = 6
"""The number of missed heartbeats after which the owner of a job counts as dead."""


def status_of(record: Mapping[str, Any]) -> JobStatus:
    """The status that a record tells of; FAILED if its owner is gone, or silent for too long."""
    known = {name: record[name] for name in JobStatus.__dataclass_fields__ if name in record}
    status = JobStatus(**known | {"state": JobState(record["state"])})
    silence = time.time() - status.updated_at
    if status.state.is_final:
        return status
    if is_gone(status.owner):
        reason = f"its owner {status.owner} has ended"
    elif silence >= LAPSE * record["heartbeat"]:
        reason = f"its owner {status.owner} has not been heard of for {silence:.0f} s"
    else:
        return status
    message = (
        f"{reason}, the job was {status.message or status.state.value!r}: send the request again, it goes on from what "
        "was finished"
    )
    return replace(status, state=JobState.FAILED, message=message)


def is_gone(owner: str) -> bool:
    """Whether the owner was a process of this machine that is no more."""
    host, _, process = owner.rpartition(":")
    if os.name != "posix" or host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


_JOB_ID = re.compile(r"[0-9a-f]{32}")


def new_job_id() -> str:
    """A random id that sorts by time, so that the oldest are found without reading them."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def began(job_id: str) -> float:
    """When a job was submitted, by its id."""
    return int(job_id[:12], 16) / 1000


def is_job_id(text: str) -> bool:
    """Whether a text can be the id of a job; nothing else is looked for in storage."""
    return _JOB_ID.fullmatch(text) is not None
