"""Which operations the event loop answers itself."""

from __future__ import annotations

import time

import pytest

from lancespace.operations import OPERATIONS
from lancespace_server.pace import FAST_SECONDS, MOST_TRUST, TRUST, Pace

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


def test_a_slow_store_is_never_trusted():
    pace = Pace()
    for _ in range(3):
        seen(seen(pace, TRUST - 1), 1, 2 * FAST_SECONDS)

    assert not pace.is_fast(READ)


@pytest.mark.parametrize("operation", ["create_namespace", "count_table_rows"])
def test_writes_and_data_are_for_threads(operation: str):
    assert not seen(Pace(), 2 * TRUST, operation=operation).is_fast(OPERATIONS[operation])
