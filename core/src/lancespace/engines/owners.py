"""Whether the owner of a job is still there: a process that died cannot write that its jobs are over."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lancespace.engines import JobState, JobStatus

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
