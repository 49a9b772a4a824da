"""Callers that speak HTTP by hand, to stop in the middle of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyarrow as pa

from lancespace_testing.samples import COUNT, sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
BIG_ROWS = 18_000


_BATCH_ROWS = 1000
_END_OF_STREAM = 8


def _stream_of(count: int) -> bytes:
    rows = pa.concat_tables([sample()] * (count // COUNT + 1)).slice(0, count).combine_chunks()
    names = pa.array(["x" * 1000] * count)
    return stream(rows.set_column(rows.schema.get_field_index("name"), "name", names), batch_rows=_BATCH_ROWS)


BIG = _stream_of(BIG_ROWS)
"""Larger than what the server holds of a body, in many batches: 18 MB, of few rows, which costs Lance little."""
FIRST_BATCHES = len(_stream_of(3 * _BATCH_ROWS)) - _END_OF_STREAM
"""How much of it are three whole batches: what breaks off here looks as if it were all."""


@contextmanager
def connection(server: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30) as opened:
        yield opened


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: localhost", *lines, "", ""]).encode()


def received(opened: socket.socket) -> bytes:
    """Everything until the server hangs up."""
    parts = []
    while part := opened.recv(65536):
        parts.append(part)
    return b"".join(parts)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def upload_head(table: str, verb: str) -> bytes:
    return head(f"/v1/table/{table}/{verb}", f"content-type: {ARROW['content-type']}", "transfer-encoding: chunked")


def under_way(server: Running) -> bool:
    """Whether the server has one request to answer; to ask for its numbers counts as none."""
    with client(server) as http:
        return "lancespace_requests_under_way 1.0" in http.get("/metrics").text


def fill(http: httpx.Client, table: str) -> None:
    assert http.post(f"/v1/table/{table}/create", content=stream(sample()), headers=ARROW).status_code == 200


def versions(http: httpx.Client, table: str) -> list[int]:
    return [each["version"] for each in http.post(f"/v1/table/{table}/version/list").json()["versions"]]


def idle(http: httpx.Client) -> None:
    """Wait until the server has nothing under way."""
    until(lambda: "lancespace_requests_under_way 0.0" in http.get("/metrics").text, bool)


def huge_query(http: httpx.Client) -> bytes:
    """A query whose answer does not fit into any buffer on its way."""
    answer = http.post("/v1/table/huge/create?mode=overwrite", content=BIG, headers=ARROW)
    assert answer.status_code == 200, answer.text
    body = b'{"k": 1000000, "vector": {}}'
    return head("/v1/table/huge/query", f"content-length: {len(body)}") + body


def queries(server: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.lines().splitlines() if '"query_table"' in line]
