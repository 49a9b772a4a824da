"""The connections of a worker, held by the supervisor too: if the worker dies, the supervisor answers them with 503.

The worker sends each connection that it takes through a socket pair, and notes in shared memory how far it is. Over TLS
only the worker has the keys, so there the connections of a worker that dies are just closed.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import suppress
from ctypes import c_ubyte
from typing import TYPE_CHECKING, Any

from lance_namespace import ErrorCode
from pydantic_core import to_json

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

IDLE, ASKED, ANSWERED = range(3)
"""No request; one that has no answer yet; one whose answer has begun."""

_NUMBER_BYTES = 4
_LINGER_SECONDS = 1.0
"""For so long, the rest of a request is read and dropped: a connection closed before that may lose its answer."""

_BODY = to_json(
    {
        "error": "The process that ran the operation died, because of this request or another one. Check whether a "
        "write was carried out before you send it again, or send it again with the same Idempotency-Key.",
        "code": int(ErrorCode.SERVICE_UNAVAILABLE),
    }
)
_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


class Register:
    """The worker's side; it goes to the worker when that is started."""

    def __init__(self, channel: socket.socket, states: Any) -> None:
        self._channel = channel
        self._states = states
        self._free: list[int] | None = None

    def enter(self, file: int) -> int | None:
        """Have the supervisor hold a connection too; its number, or None if there are too many of them."""
        if self._free is None:
            self._free = list(range(len(self._states)))
        if not self._free:
            return None
        number = self._free.pop()
        self._states[number] = IDLE
        socket.send_fds(self._channel, [number.to_bytes(_NUMBER_BYTES, "big")], [file])
        return number

    def note(self, number: int, state: int) -> None:
        """How far the connection is."""
        self._states[number] = state

    def leave(self, number: int) -> None:
        """The connection is closed; it ends when the supervisor closes it as well."""
        with suppress(OSError):  # The supervisor is gone.
            self._channel.sendall(number.to_bytes(_NUMBER_BYTES, "big"))
        if self._free is not None:
            self._free.append(number)


class Custody:
    """The supervisor's side, for one worker."""

    def __init__(self, context: SpawnContext, most: int) -> None:
        self._mine, theirs = socket.socketpair()
        self._mine.setblocking(False)
        self._states = context.RawArray(c_ubyte, most)
        self.register = Register(theirs, self._states)
        self._theirs = theirs
        self._held: dict[int, socket.socket] = {}

    def fileno(self) -> int:
        """What to wait for: there is something to hear then."""
        return self._mine.fileno()

    def hear(self) -> None:
        """Take and close connections as the worker says."""
        while True:
            try:
                number, files, _, _ = socket.recv_fds(self._mine, _NUMBER_BYTES, 1)
            except BlockingIOError:
                return
            held = self._held.pop(int.from_bytes(number, "big"), None)
            if held is not None:
                held.close()
            if files:
                self._held[int.from_bytes(number, "big")] = socket.socket(fileno=files[0])

    def end(self, listener: socket.socket | None) -> None:
        """The worker is dead: answer what it was asked, and those who wait at its listener, and close the rest."""
        self.hear()
        self._mine.close()
        self._theirs.close()
        waiting = list(_accepted(listener)) if listener is not None else []
        for number, held in self._held.items():
            if self._states[number] == ASKED or (self._states[number] == IDLE and _has_unread(held)):
                waiting.append(held)
            else:
                held.close()
        self._held.clear()
        if waiting:
            threading.Thread(target=_answer, args=(waiting,), daemon=True).start()


def _accepted(listener: socket.socket) -> list[socket.socket]:
    listener.setblocking(False)
    found = []
    with suppress(OSError):
        while True:
            found.append(listener.accept()[0])
    return found


def _has_unread(held: socket.socket) -> bool:
    try:
        return bool(held.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def _answer(waiting: list[socket.socket]) -> None:
    """Answer, and close once the other side has, or has had time to."""
    ends = time.monotonic() + _LINGER_SECONDS
    with selectors.DefaultSelector() as selector:
        for each in waiting:
            each.setblocking(False)
            with suppress(OSError):
                each.send(_ANSWER)
                each.shutdown(socket.SHUT_WR)
            selector.register(each, selectors.EVENT_READ)
        while selector.get_map() and (left := ends - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                each = waiting[[one.fileno() for one in waiting].index(key.fd)]
                if not _drain(each):
                    selector.unregister(each)
    for each in waiting:
        each.close()


def _drain(each: socket.socket) -> bool:
    """Drop what has come; whether more may come."""
    try:
        return bool(each.recv(1 << 16))
    except BlockingIOError:
        return True
    except OSError:
        return False
