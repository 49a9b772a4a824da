"""What a thread writes into a download reaches the event loop: all of it, in order, and never too much at once."""

from __future__ import annotations

import asyncio
import threading

import pyarrow as pa
import pytest

from lancespace_server import ServerSettings
from lancespace_server.downloads import Abandoned, Chunk, Download
from lancespace_testing.waiting import until

MIB = 1 << 20


def parts(sizes: list[int]) -> list[bytes]:
    return [bytes([number % 251]) * size for number, size in enumerate(sizes)]


async def collect(download: Download, *, pause: float = 0.0) -> list[Chunk]:
    chunks = []
    while chunk := await download.next():
        chunks.append(chunk)
        await asyncio.sleep(pause)
    return chunks


def joined(chunks: list[Chunk]) -> bytes:
    return b"".join(b"".join(chunk) for chunk in chunks)


@pytest.mark.parametrize("pause", [0.0, 0.01], ids=["taken at once", "taken slowly"])
@pytest.mark.parametrize(
    "sizes",
    [[], [1], [3] * 5000, [2 * MIB] * 12, [100, MIB, 7, MIB + 1, 0, 5] * 6, [20_000] * 200],
    ids=["nothing", "a byte", "many small", "large", "mixed", "many columns"],
)
def test_everything_arrives_in_order(sizes: list[int], pause: float):
    data = parts(sizes)

    async def talk() -> list[Chunk]:
        download = Download(ServerSettings(buffer_bytes=3 * MIB))

        def write() -> None:
            for part in data:
                download.write(part)
            download.finish()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            return await collect(download, pause=pause)
        finally:
            writer.join()

    chunks = asyncio.run(talk())

    assert joined(chunks) == b"".join(data)
    assert all(len(chunk) <= 64 for chunk in chunks)


def test_a_writer_that_is_ahead_waits():
    async def talk() -> tuple[list[int], bytes]:
        download = Download(ServerSettings(buffer_bytes=4 * MIB))
        written: list[int] = []

        def write() -> None:
            for part in parts([MIB] * 20):
                written.append(download.write(part))  # noqa: PERF401 - it is looked at while it grows
            download.finish()

        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: len(written) >= 5, bool)
        writer.join(timeout=0.2)
        before = list(written)
        chunks = await collect(download)
        writer.join()
        return before, joined(chunks)

    before, data = asyncio.run(talk())

    assert len(before) == 5
    assert len(data) == 20 * MIB


def test_a_writer_that_waits_is_told_that_nobody_takes_the_rest():
    async def talk() -> type[BaseException] | None:
        download = Download(ServerSettings(buffer_bytes=MIB))
        raised: list[type[BaseException]] = []

        def write() -> None:
            try:
                while True:
                    download.write(bytes(MIB))
            except Abandoned as error:
                raised.append(type(error))

        writer = threading.Thread(target=write)
        writer.start()
        assert await download.next()
        download.abandon()
        writer.join(timeout=60)
        return raised[0] if raised else None

    assert asyncio.run(talk()) is Abandoned


def test_the_end_is_quiet_when_nobody_takes_the_rest():
    async def talk() -> bool:
        download = Download(ServerSettings())
        download.write(b"a part")
        download.abandon()
        download.finish()
        return bool(await download.next())

    assert asyncio.run(talk()) is False


def test_what_came_before_an_error_is_whole():
    async def talk() -> bytes:
        download = Download(ServerSettings())
        download.write(bytes(2 * MIB))
        download.write(b"not sent")
        download.finish(ValueError("broken"))
        first = await download.next()
        with pytest.raises(ValueError, match="broken"):
            await download.next()
        return joined([first])

    assert asyncio.run(talk()) == bytes(2 * MIB)


@pytest.mark.parametrize("as_stream", [True, False], ids=["stream", "file"])
def test_batches_of_many_columns(as_stream: bool):
    table = pa.table({f"column_{number}": [number, None, 3] for number in range(300)})

    async def talk() -> bytes:
        download = Download(ServerSettings())
        download.write_batches(table.to_reader(), as_stream=as_stream)
        download.finish()
        return joined(await collect(download))

    data = pa.BufferReader(asyncio.run(talk()))

    assert (pa.ipc.open_stream(data) if as_stream else pa.ipc.open_file(data)).read_all() == table
