"""The C library's allocator, set up for a process that streams.

Left to itself, glibc gives each of many threads a heap of its own, each of which keeps what it once needed: memory
grows with the number of requests. And it returns every large buffer to the kernel, which has to clear it anew for the
next one.
"""

from __future__ import annotations

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""The names of these in ``malloc.h``."""

_CHOICES = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 128 << 20}


def keep_freed_memory() -> None:
    """Share few heaps, and keep buffers for the next one; before the first thread, or it has no effect.

    Other C libraries than glibc are left as they are.
    """
    if os.name != "posix":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in _CHOICES.items():
            mallopt(parameter, value)
