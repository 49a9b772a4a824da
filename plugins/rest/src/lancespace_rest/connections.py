"""Connections that keep the timeouts they are told, and say whether there was one at all.

urllib3 sends with the timeout for connecting, and has many errors for a connection that was never made. Both are put
right where the connection is: only there is it known that nothing has been sent.
"""

from __future__ import annotations

import queue
import re
import socket
from typing import TYPE_CHECKING, Any

import requests

from lancespace_rest import deadlines

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.connection import HTTPConnection
    from urllib3.connectionpool import HTTPConnectionPool

    _Base = HTTPConnection
else:
    _Base = object

_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")


class NotConnected(requests.ConnectionError):
    """No connection was made, so nothing was sent."""

    def __init__(self, proxy: str | None, refusal: int | None) -> None:
        super().__init__()
        self.proxy = proxy
        """Host and port of the proxy that was to make the connection, if there is one."""
        self.refusal = refusal
        """The status that the proxy answered instead."""


class Unconnected(Exception):  # noqa: N818 - a sign on the way to NotConnected
    """The same on its way through urllib3 and requests, which would wrap an error of theirs or of the system."""

    def __init__(self, proxy: str | None) -> None:
        super().__init__()
        self.proxy = proxy

    def told(self) -> NotConnected:
        """What callers of the session get; it is raised from the cause."""
        found = _TUNNEL.search(str(self.__cause__))
        return NotConnected(self.proxy, int(found[1]) if found else None)


class Patient(_Base):
    """A connection that waits as long for the server to take data as for it to answer, and keeps the deadline."""

    patience: float
    """Seconds to wait while sending."""
    answering: socket.socket | None = None
    """The socket of the answer, which the connection itself forgets if the answer is the last on it."""

    def connect(self) -> None:
        """As in urllib3, but every failure says that there is no connection."""
        try:
            super().connect()
        except Exception as error:
            proxy = f"{self.proxy.host}:{self.proxy.port}" if self.proxy else None
            raise Unconnected(proxy) from error

    def request(self, method: str, url: str, *args: Any, **options: Any) -> None:
        """Connect with the one timeout, send with the other."""
        if self.sock is None:
            self.connect()
        self.timeout = min(self.patience, deadlines.current().remaining())
        super().request(method, url, *args, **options)

    def send(self, data: Any) -> None:
        """Send a piece, if there is time left for it."""
        deadlines.current().limit(self.sock)
        super().send(data)

    def getresponse(self) -> Any:
        """The head of the answer."""
        self.answering = self.sock
        self.timeout = min(self.timeout or self.patience, deadlines.current().remaining())
        return super().getresponse()


def make_patient(manager: PoolManager, seconds: float) -> None:
    """Have the pools of a manager make patient connections, whatever kind its own are (direct, by proxy, SOCKS)."""
    kinds = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _patient_pool(kind, seconds) for scheme, kind in kinds.items()}


def _patient_pool(kind: type[HTTPConnectionPool], seconds: float) -> type[HTTPConnectionPool]:
    connection = type(f"Patient{kind.ConnectionCls.__name__}", (Patient, kind.ConnectionCls), {"patience": seconds})
    return type(f"Patient{kind.__name__}", (kind,), {"ConnectionCls": connection, "QueueCls": _Shelf})


class _Shelf(queue.LifoQueue[Any]):
    """Where a pool keeps connections. One too many is closed; urllib3 would warn of it, but nothing is wrong."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Keep a connection, or close it."""
        try:
            super().put(item, block, timeout)
        except queue.Full:
            if item is not None:
                item.close()
