"""Requests per second over a number of connections: by wrk where it is installed, otherwise by sockets of our own."""

from __future__ import annotations

import re
import selectors
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONNECTIONS = 16

_SCRIPT = """
wrk.headers["content-type"] = "application/json"
local paths, requests, turn = {%s}, {}, 0
init = function()
  for number, path in ipairs(paths) do
    requests[number] = wrk.format("%s", path, nil, %s)
  end
end
request = function()
  turn = turn %% #requests + 1
  return requests[turn]
end
"""
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def per_second(port: int, method: str, paths: Sequence[str], body: str, seconds: float) -> float:
    """How many of these requests, taken in turns, are answered with 200 each second.

    Raises:
        RuntimeError: If any is answered otherwise: there is nothing to compare then.
    """
    if shutil.which("wrk"):
        return _by_wrk(port, method, paths, body, seconds)
    return _by_sockets(port, method, paths, body, seconds)


def _by_wrk(port: int, method: str, paths: Sequence[str], body: str, seconds: float) -> float:
    quoted = ", ".join(f'"{path}"' for path in paths)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_SCRIPT % (quoted, method, f"'{body}'" if body else "nil"))
        script.flush()
        options = ["-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s", script.name]
        command = ["wrk", *options, f"http://127.0.0.1:{port}"]
        report = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Non-2xx" in report or "Socket errors" in report:
        raise RuntimeError(report)
    return float(re.findall(r"Requests/sec:\s+([\d.]+)", report)[0])


def _by_sockets(port: int, method: str, paths: Sequence[str], body: str, seconds: float) -> float:
    """The same from one thread of Python, which takes more of the machine than wrk does."""
    turns = _requests(method, paths, body)
    answered, stop = 0, time.perf_counter() + seconds
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(CONNECTIONS):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            selector.register(opened, selectors.EVENT_READ, bytearray())
            opened.sendall(next(turns))
        while time.perf_counter() < stop:
            for key, _ in selector.select(timeout=1):
                if _is_answered(key):
                    answered += 1
                    key.fileobj.sendall(next(turns))  # type: ignore[union-attr]
    return answered / seconds


def _requests(method: str, paths: Sequence[str], body: str) -> Iterator[bytes]:
    head = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    made = [f"{method} {path} HTTP/1.1\r\n{head}".encode() for path in paths]
    while True:
        yield from made


def _is_answered(key: selectors.SelectorKey) -> bool:
    """Take what came; whether the answer is whole."""
    buffer: bytearray = key.data
    buffer += key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
    head, found, rest = buffer.partition(_HEAD_END)
    if not found or len(rest) < int(_LENGTH.findall(head)[0]):
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(bytes(buffer).decode())
    buffer.clear()
    return True
