"""Broken Arrow bodies and odd headers are the caller's mistake, never the server's end."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest

from lancespace_testing.samples import sample, stream
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
ROUNDS = 100


@pytest.fixture(scope="module", params=[None, 256], ids=["held in memory", "streamed"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One whose buffer holds all of these bodies, and one whose buffer holds none of them."""
    folder = tmp_path_factory.mktemp("fuzz")
    limits = ["--buffer-bytes", str(request.param)] if request.param else []
    with served(folder, "dir", f"root={folder / 'catalog'}", "--no-access-log", *limits) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        for table in ("target", "rich"):
            answer = opened.post(f"/v1/table/{table}/create", content=bodies()[table], headers=ARROW)
            assert answer.status_code == 200, answer.text
        yield opened


def bodies() -> dict[str, bytes]:
    """Streams of many kinds of buffers: fixed, variable, nested, dictionaries, compressed."""
    rich = pa.table(
        {
            "text": ["a", "bc", None, "déf"],
            "list": [[1, 2], [], None, [3]],
            "struct": [{"x": 1, "y": "z"}] * 4,
            "dict": pa.array(["u", "v", "u", "v"]).dictionary_encode(),
            "flag": [True, False, None, True],
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rich.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rich)
    return {"target": stream(sample()), "rich": stream(rich), "compressed": sink.getvalue().to_pybytes()}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The same with some bytes changed, cut out, doubled or cut off."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(made))
        kind = chance.choice(("flip", "flip", "max", "cut", "double", "end"))
        if kind == "flip":
            made[position] ^= 1 << chance.randrange(8)
        elif kind == "max":
            made[position : position + 4] = b"\xff\xff\xff\x7f"
        elif kind == "cut":
            del made[position : position + chance.randint(1, 64)]
        elif kind == "double":
            made[position:position] = made[position : position + 64]
        else:
            del made[position:]
        if not made:
            return b""
    return bytes(made)


@pytest.mark.parametrize("name", ["target", "rich", "compressed"])
def test_damaged_bodies(server: Running, http: httpx.Client, name: str):
    chance = random.Random(name)
    table = "target" if name == "target" else "rich"
    for number in range(ROUNDS):
        body = damaged(bodies()[name], chance)
        verb = chance.choice(
            ("insert", "insert?mode=overwrite", "merge_insert?on=id", f"create?mode=overwrite&n={number}")
        )
        answer = http.post(f"/v1/table/{table}/{verb}", content=body, headers=ARROW)

        # What a change leaves sound is taken: the bytes of a number may be any.
        assert answer.status_code in {200, 400, 404, 409, 413}, (number, answer.text)
        assert server.process.poll() is None
    assert http.post(f"/v1/table/{table}/count_rows", json={}).status_code == 200


def test_bodies_that_are_something_else(http: httpx.Client):
    before = http.post("/v1/table/target/version/list").json()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, sample().schema) as writer:
        writer.write_table(sample())
    for body in (b"", b"\0", b"{}", bytes(1000), b"ARROW1\0\0", sink.getvalue().to_pybytes()):
        for verb in ("insert", "create?mode=overwrite"):
            answer = http.post(f"/v1/table/target/{verb}", content=body, headers=ARROW)

            assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text
            assert answer.json()["error"].startswith(
                ("The body is not a sound Arrow IPC", "The body is an Arrow IPC file")
            )
    assert http.post("/v1/table/target/version/list").json() == before


def test_text_that_is_not_utf8_is_found_before_anything_is_written(http: httpx.Client):
    good = stream(sample())
    bad = good.replace(b"red apple", b"red \xff\xfe\xfd\xfc\xfb")
    answer = http.post("/v1/table/fresh/create", content=bad, headers=ARROW)

    assert bad != good
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert http.post("/v1/table/fresh/exists", json={}).status_code == 404


def test_names_that_are_not_utf8(http: httpx.Client):
    bad = stream(sample()).replace(b"name", b"n\xff\xfee")
    answer = http.post("/v1/table/unnamed/create", content=bad, headers=ARROW)

    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert http.post("/v1/table/unnamed/exists", json={}).status_code == 404


def test_a_batch_that_claims_to_be_huge(http: httpx.Client):
    good = stream(sample())
    marker = b"\xff\xff\xff\xff"
    second = good.index(marker, 8)
    bad = good[: second + 4] + b"\xff\xff\xff\x7f" + good[second + 8 :]

    for body in (bad, b"\xff" * 1000):
        assert http.post("/v1/table/target/insert", content=body, headers=ARROW).status_code in {400, 413}


def test_odd_headers(server: Running, http: httpx.Client):
    chance = random.Random(0)
    names = ["content-type", "accept", "x-request-id", "traceparent", "x-api-key", "authorization", "origin", "x-odd"]
    for _ in range(ROUNDS):
        headers = [
            (
                chance.choice(names).encode(),
                bytes(chance.choice(range(0x21, 0x7F)) for _ in range(chance.randint(1, 60))),
            )
            for _ in range(chance.randint(1, 20))
        ]
        answer = http.post("/v1/table/target/exists", content=b"{}", headers=headers)

        assert answer.status_code in {200, 400, 403, 415}, answer.text
    assert server.process.poll() is None
    assert http.post("/v1/table/target/count_rows", json={}).status_code == 200


@pytest.mark.parametrize("length", [b"-1", b"99999999999999999999999", b"abc", b"1e3"])
def test_odd_lengths(server: Running, length: bytes):
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30) as opened:
        opened.sendall(
            b"POST /v1/table/target/exists HTTP/1.1\r\nhost: localhost\r\ncontent-length: %s\r\n\r\n{}" % length
        )
        answer = opened.recv(65536)

    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))
