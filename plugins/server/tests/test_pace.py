"""Which operations the event loop answers itself."""

from __future__ import annotations

import time

import pytest

from lancespace.authoring import OPERATIONS
from lancespace_server.pace import CALM, DOUBT_SECONDS, FAST_SECONDS, MOST_TRUST, STALL_SECONDS, TRUST, Pace

READ = OPERATIONS["describe_table"]


def seen(pace: Pace, count: int, seconds: float = 0.0, operation: str = "describe_table") -> Pace:
    for _ in range(count):
        pace.run(OPERATIONS[operation], lambda: time.sleep(seconds) if seconds else None)
    return pace


def test_trust_is_earned():
    assert not seen(Pace(), TRUST - 1).is_fast(READ)
    assert seen(Pace(), TRUST).is_fast(READ)
    assert not seen(Pace(), TRUST).is_fast(OPERATIONS["list_tables"])


def test_one_slow_answer_among_many_is_forgiven_and_two_are_not():
    pace = seen(Pace(), 10 * MOST_TRUST)

    assert seen(pace, 1, 2 * FAST_SECONDS).is_fast(READ)
    assert not seen(pace, 1, 2 * FAST_SECONDS).is_fast(READ)


def test_an_answer_that_everybody_felt_costs_all_trust_for_a_while(monkeypatch: pytest.MonkeyPatch):
    """Else one slow table among fast ones would hold up all others again and again."""
    pace = seen(seen(Pace(), 10 * MOST_TRUST), TRUST, operation="list_tables")
    seen(pace, 1, 1.5 * STALL_SECONDS)

    assert not pace.is_fast(READ)
    assert not pace.is_fast(OPERATIONS["list_tables"])
    assert not seen(pace, 10 * MOST_TRUST).is_fast(READ)

    now = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: now() + DOUBT_SECONDS)
    assert seen(pace, MOST_TRUST).is_fast(READ)
    seen(pace, 1, 1.5 * STALL_SECONDS)
    monkeypatch.setattr(time, "perf_counter", lambda: now() + 2.5 * DOUBT_SECONDS)
    assert not seen(pace, MOST_TRUST).is_fast(READ), "it is doubted for longer if it comes soon"

    calm = 2 * CALM * 2 * DOUBT_SECONDS
    monkeypatch.setattr(time, "perf_counter", lambda: now() + calm)
    seen(seen(pace, MOST_TRUST), 1, 1.5 * STALL_SECONDS)
    monkeypatch.setattr(time, "perf_counter", lambda: now() + calm + 1.5 * DOUBT_SECONDS)
    assert seen(pace, MOST_TRUST).is_fast(READ), "and not for longer after a long time"


def test_a_slow_answer_of_a_thread_is_felt_by_nobody():
    assert seen(seen(Pace(), 1, 1.5 * STALL_SECONDS), TRUST).is_fast(READ)


def test_a_slow_store_is_never_trusted():
    pace = Pace()
    for _ in range(3):
        seen(seen(pace, TRUST - 1), 1, 2 * FAST_SECONDS)

    assert not pace.is_fast(READ)


@pytest.mark.parametrize("operation", ["create_namespace", "count_table_rows"])
def test_writes_and_data_are_for_threads(operation: str):
    assert not seen(Pace(), 2 * TRUST, operation=operation).is_fast(OPERATIONS[operation])
