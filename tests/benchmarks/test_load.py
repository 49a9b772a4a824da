"""Inserts into one table over many connections."""

from __future__ import annotations

import pytest

from benchmarks import load

MOST_MEGABYTES = 600
"""Each version's manifest was kept, and each commit lost to others again and again: 1500 MB."""


def test_memory_does_not_grow_with_the_number_of_inserts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(load, "INSERTS", 2000)

    *steps, summary = load.run()

    assert [step.case for step in steps] == [f"after {200 * step}" for step in range(1, 11)]
    assert summary.numbers["peak_mb"] < MOST_MEGABYTES
