from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from lancespace.authoring import call_on_python_thread


def on_a_foreign_thread(function: Callable[[], Any]) -> Any:
    """Run a function on a thread that Python's threading did not start, as those of the Lance SDK."""
    done: Future[object] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:  # noqa: BLE001 - it is raised in the test
            done.set_exception(error)

    _thread.start_new_thread(run, ())
    return done.result(timeout=30)


def test_a_call_on_a_thread_of_pythons_own_stays_there():
    assert call_on_python_thread(threading.get_ident) == threading.get_ident()


def test_a_call_on_a_foreign_thread_is_made_on_another():
    here, there = on_a_foreign_thread(lambda: (threading.get_ident(), call_on_python_thread(threading.get_ident)))
    assert here != there
    assert on_a_foreign_thread(lambda: call_on_python_thread(dict, answer=42)) == {"answer": 42}


def test_what_it_raises_comes_back():
    def fail() -> None:
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        on_a_foreign_thread(lambda: call_on_python_thread(fail))
