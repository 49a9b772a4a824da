"""Memory stays flat, however much travels; and a client alone needs no pylance."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from plugins.rest.tests.support import Handler, Reply, Seen, Server, reply
from plugins.rest.tests.traffic import BATCH, batches

MEGABYTES = 400
ALLOWED = 120.0
"""Far more than a few batches, far less than the whole."""


class Draining(Handler):
    """Counts a body instead of keeping it."""

    received = 0

    def _body(self) -> tuple[bytes, bool]:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return super()._body()
        while size := int(self.rfile.readline(), 16):
            type(self).received += len(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"", True


def encoded(kind: str) -> Iterator[bytes]:
    """An Arrow file or stream, batch after batch."""
    sink = io.BytesIO()
    opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with opened(_Counting(sink), BATCH.schema) as writer:
        for batch in batches(MEGABYTES):
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


class _Counting(io.RawIOBase):
    """A sink that is emptied while it is written, and still knows how far it is."""

    def __init__(self, sink: io.BytesIO) -> None:
        self._sink = sink
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._position += len(memoryview(data).cast("B"))
        return self._sink.write(data)

    def tell(self) -> int:
        return self._position


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    def answer(seen: Seen) -> Reply:
        return Reply(200, chunks=encoded(request.param)) if "/query" in seen.target else reply()

    with Server(answer) as server:
        server.RequestHandlerClass = Draining
        yield server


def growth(uri: str, direction: str) -> float:
    script = Path(__file__).with_name("traffic.py")
    command = [sys.executable, str(script), uri, direction, str(MEGABYTES)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120).stdout)


@pytest.mark.parametrize("server", ["file", "stream"], indirect=True)
def test_results_that_stream(server: Server):
    assert growth(server.uri, "in") < ALLOWED


@pytest.mark.parametrize("server", ["file"], indirect=True)
def test_data_that_streams(server: Server):
    Draining.received = 0

    assert growth(server.uri, "out") < ALLOWED
    assert Draining.received > MEGABYTES * 1_000_000


def needed(name: str) -> set[str]:
    """What ``pip install`` of a distribution brings with it."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = canonicalize_name(waiting.pop())
        if one not in found:
            found.add(one)
            requirements = map(Requirement, metadata.requires(one) or ())
            waiting += [
                need.name for need in requirements if need.marker is None or need.marker.evaluate({"extra": ""})
            ]
    return found


def test_installing_the_client_alone_brings_no_pylance():
    found = needed("lancespace-rest")

    assert {"lancespace-core", "requests", "pyarrow"} <= found
    assert "pylance" not in found


LIGHT = """
import sys
sys.modules["lance"] = sys.modules["fsspec"] = None
import lance_namespace
import lancespace
namespace = lancespace.connect("rest", {"uri": sys.argv[1]})
namespace.describe_namespace("a")
assert "pyarrow" not in sys.modules, "pyarrow without Arrow data"
namespace.create_table("t", [{"id": 1}])
assert namespace.table("t").to_arrow().to_pylist() == [{"id": 1}]
try:
    namespace.table("t").dataset()
except lance_namespace.UnsupportedOperationError as error:
    assert "needs lance: pip install" in str(error), error
else:
    raise AssertionError("it was opened")
namespace.close()
"""


def test_a_client_alone_needs_no_pylance():
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, pa.schema({"id": pa.int64()})) as writer:
        writer.write_table(pa.table({"id": [1]}))
    with Server(lambda seen: Reply(200, sink.getvalue()) if "/query" in seen.target else reply()) as server:
        subprocess.run([sys.executable, "-c", LIGHT, server.uri], check=True, timeout=60)

    assert len(server.seen) == 3
