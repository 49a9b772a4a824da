"""The ids of jobs."""

from __future__ import annotations

import re
import secrets
import time

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
