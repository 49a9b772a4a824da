"""The guard that keeps tests on this machine."""

from __future__ import annotations

import os
import socket

import pytest

from tests.emulators import guard


def test_a_connection_elsewhere_is_refused_and_remembered():
    with socket.socket() as client, pytest.raises(OSError, match="outside this machine"):
        client.connect(("192.0.2.1", 80))
    assert guard.reached == ["192.0.2.1"]
    guard.reached.clear()


def test_no_machine_is_asked_for_credentials():
    assert {name: os.environ.get(name) for name in guard.NO_METADATA} == guard.NO_METADATA
