"""One caller attacks while another one is measured."""

from __future__ import annotations

import pytest

from benchmarks import overload


def test_each_attack_is_measured_beside_the_quiet_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overload, "SECONDS", 0.2)
    monkeypatch.setattr(overload, "ATTACKS", {"many requests": overload.ATTACKS["many requests"]})

    quiet, attacked = overload.run()

    assert quiet.case == "quiet"
    assert attacked.case == "many requests"
    assert attacked.numbers["times_quiet"] == pytest.approx(attacked.numbers["p99_ms"] / quiet.numbers["p99_ms"])
