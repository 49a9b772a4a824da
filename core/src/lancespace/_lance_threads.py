"""Calls that come from threads of the Lance SDK."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def call_on_python_thread(function: Callable[..., Answer], **arguments: Any) -> Answer:
    """Call a function on a thread of Python's own: here, or, on a thread that Lance made, by way of another one.

    pylance asks a namespace for versions, and commits to it, on threads of its own. A scan of a Lance table that is
    read on such a thread crashes the interpreter (pylance 14.0.2), and the directory catalog is a Lance table.
    """
    if not isinstance(threading.current_thread(), threading._DummyThread):  # noqa: SLF001 - no public way to ask
        return function(**arguments)
    answer: Future[Answer] = Future()
    threading.Thread(target=_run, args=(answer, function, arguments), name="lancespace-foreign", daemon=True).start()
    return answer.result()


def _run(answer: Future[Answer], function: Callable[..., Answer], arguments: dict[str, Any]) -> None:
    try:
        answer.set_result(function(**arguments))
    except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
        answer.set_exception(error)
