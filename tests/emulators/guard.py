"""No test leaves this machine: neither for the metadata services of clouds, nor by mistake.

Python's own connections are watched by an audit hook, in the processes that run tests. What pylance connects to is not
seen; it is told that there are no metadata services.
"""

from __future__ import annotations

import errno
import functools
import ipaddress
import os
import socket
import sys
from typing import Any

NOWHERE = "127.0.0.1:9"
"""Where nobody listens."""
NO_METADATA = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
    "GCE_METADATA_HOST": NOWHERE,
    "GCE_METADATA_IP": NOWHERE,
    "GCE_METADATA_ROOT": NOWHERE,
    "NO_GCE_CHECK": "true",
    "IDENTITY_ENDPOINT": f"http://{NOWHERE}/msi/token",
    "IDENTITY_HEADER": "none",
}
"""Variables by which the clients of the clouds ask no machine for credentials."""

reached: list[str] = []
"""The addresses outside this machine that were tried."""


def install() -> None:
    """Watch this process, and set the variables for it and its children."""
    os.environ.update(NO_METADATA)
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect":
        return
    connection, address = arguments
    if connection.family not in {socket.AF_INET, socket.AF_INET6} or connection.type & socket.SOCK_DGRAM:
        return  # To connect a datagram socket sends nothing; it is how programs find their own address.
    host = str(address[0])
    if not _is_here(host):
        reached.append(host)
        raise OSError(errno.ENETUNREACH, f"a test tried to connect to {host}, outside this machine")


@functools.cache
def _is_here(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in {"localhost", socket.gethostname()}
    return found.is_loopback or found.is_unspecified or host in _own_addresses()


@functools.cache
def _own_addresses() -> frozenset[str]:
    try:
        return frozenset(str(row[4][0]) for row in socket.getaddrinfo(socket.gethostname(), None))
    except OSError:
        return frozenset()
