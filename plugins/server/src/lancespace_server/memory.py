"""How much memory a worker takes, and may take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_GIB = 1 << 30
_SHARE = 0.8
"""Of the machine's memory, or the container's, for all workers together."""

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def default_limit(workers: int) -> int:
    """What each of so many workers may take: its share, and at least 1 GiB."""
    return max(int(_total() * _SHARE / workers), _GIB)


def used_by(process_id: int) -> int:
    """The memory of a process that no file backs, in bytes; 0 if it is gone, or there is no ``/proc``."""
    try:
        resident, shared = Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def offer_to_kernel() -> None:
    """If the machine runs out of memory, the kernel is to end this process before the one that replaces it."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def _total() -> int:
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            sizes.append(int(Path(path).read_text(encoding="ascii")))
    return min(sizes)
