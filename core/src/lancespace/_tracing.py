"""``LANCESPACE_TRACE=1``: every hook call on standard error, with its time."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pluggy

TRACE_VARIABLE = "LANCESPACE_TRACE"


def install(manager: pluggy.PluginManager) -> None:
    """Trace the manager's calls if the environment asks for it; costs nothing otherwise."""
    if os.environ.get(TRACE_VARIABLE, "") in {"", "0"}:
        return
    starts = threading.local()

    def before(*_: object) -> None:
        starts.stack = [*getattr(starts, "stack", ()), time.perf_counter()]

    def after(
        outcome: pluggy.Result[Any],
        hook_name: str,
        hook_impls: Sequence[pluggy.HookImpl],
        kwargs: Mapping[str, Any],
    ) -> None:
        elapsed = (time.perf_counter() - starts.stack.pop()) * 1000
        plugins = "+".join(impl.plugin_name for impl in reversed(hook_impls)) or "nobody"
        sys.stderr.write(
            f"lancespace: {hook_name}({_shown(kwargs)}) {plugins} -> {_answer(outcome)} {elapsed:.3f} ms\n"
        )

    manager.add_hookcall_monitoring(before, after)


def _shown(kwargs: Mapping[str, Any]) -> str:
    """The object a call is about. Requests and options are not shown whole: they may carry secrets."""
    request = kwargs.get("request")
    subject = getattr(request, "id", None) if request is not None else kwargs.get("path") or kwargs.get("job_id")
    return "" if subject is None else repr(subject)


def _answer(outcome: pluggy.Result[Any]) -> str:
    error = outcome.exception
    return type(outcome.get_result() if error is None else error).__name__
