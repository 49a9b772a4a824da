"""No test leaves this machine: neither for the metadata services of clouds, nor by mistake.

On Linux, where it is permitted, the processes that run tests have a network of their own, which has nothing but the
loopback interface. So have all that they start: servers, Spark's JVMs, pylance's threads. Elsewhere only Python's own
connections of these processes are watched, by an audit hook; others are told that there are no metadata services.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import ipaddress
import os
import socket
import struct
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

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 0x1  # IFF_UP

reached: list[str] = []
"""The addresses outside this machine that were tried."""


def install() -> None:
    """Shut this process and its children off, watch it, and set the variables for all of them."""
    os.environ.update(NO_METADATA)
    if is_alone():
        _raise_loopback()
    sys.addaudithook(_watch)


@functools.cache
def is_alone() -> bool:
    """Whether this thread, and all that it starts from now on, has a network of its own; it takes the right to that."""
    if sys.platform != "linux":
        return False
    failed: int = ctypes.CDLL(None).unshare(_NEW_NETWORK)
    return failed == 0


def _raise_loopback() -> None:
    """Switch the loopback interface on, which is off in a new network."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


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
