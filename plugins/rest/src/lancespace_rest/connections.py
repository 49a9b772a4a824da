"""Connections of urllib3 that send with the right timeout, keep the deadline, and say whether anything was sent.

They are plugged in where urllib3 and requests let an adapter choose the classes of its pools. Only a connection
itself can do this: urllib3 sends with the timeout for connecting, and it has many errors for a connection that was
never made. (A SOCKS proxy has connections of its own, which send with the timeout for connecting.)
"""

from __future__ import annotations

import queue
import socket
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from lancespace_rest import deadlines


class NotConnectedError(OSError):
    """No connection was made, so nothing was sent; the cause says why."""

    def __init__(self, proxy: str | None) -> None:
        super().__init__()
        self.proxy = proxy
        """Host and port of the proxy that was to make the connection, if there is one."""


class _Connection(HTTPConnection):
    answering: socket.socket | None = None
    """The socket; ``sock`` is already None while the last answer on a connection is read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience = self.timeout or float("inf")  # The timeout of the pool; requests gives each request its own.

    def connect(self) -> None:
        try:
            super().connect()
        except Exception as error:
            raise NotConnectedError(f"{self.proxy.host}:{self.proxy.port}" if self.proxy else None) from error
        self.answering = self.sock

    def request(self, *args: Any, **options: Any) -> None:
        """Connect with the one timeout, send with the other."""
        if self.sock is None:
            self.connect()
        self.timeout = min(self._patience, deadlines.current().remaining())
        super().request(*args, **options)

    def send(self, data: Any) -> None:
        """Send a piece, if there is time left for it."""
        deadlines.current().limit(self.sock)
        super().send(data)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Kept(queue.LifoQueue[Any]):
    """The connections that a pool keeps. One too many is closed without urllib3's warning: nothing is wrong."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        try:
            super().put(item, block, timeout)
        except queue.Full:
            if item is not None:
                item.close()


class _Pool(HTTPConnectionPool):
    ConnectionCls, QueueCls = _Connection, _Kept


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls, QueueCls = _SecureConnection, _Kept


POOLS = {"http": _Pool, "https": _SecurePool}
