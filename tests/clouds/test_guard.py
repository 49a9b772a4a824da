"""The guard that keeps tests on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import lance
import pytest

from tests.emulators import guard


def test_a_connection_elsewhere_is_refused_and_remembered():
    with socket.socket() as client, pytest.raises(OSError, match="outside this machine"):
        client.connect(("192.0.2.1", 80))
    assert guard.reached == ["192.0.2.1"]
    guard.reached.clear()


def test_no_machine_is_asked_for_credentials():
    assert {name: os.environ.get(name) for name in guard.NO_METADATA} == guard.NO_METADATA


@pytest.mark.skipif(not guard.is_alone(), reason="this process may not have a network of its own")
def test_no_process_that_a_test_starts_leaves_this_machine():
    connect = "import socket; socket.create_connection(('192.0.2.1', 80))"
    started = subprocess.run([sys.executable, "-c", connect], capture_output=True, text=True, check=False)
    assert "Network is unreachable" in started.stderr


@pytest.mark.skipif(not guard.is_alone(), reason="this process may not have a network of its own")
def test_pylance_does_not_leave_this_machine():
    options = {"endpoint": "http://192.0.2.1", "allow_http": "true", "region": "eu-west-1", "skip_signature": "true"}
    with pytest.raises((OSError, ValueError), match="error sending request"):
        lance.dataset("s3://lake/t.lance", storage_options={**options, "client_max_retries": "0"})
