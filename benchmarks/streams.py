"""Rows that stream through our client and server, beside the plain SDK, which reads and writes the same files."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks import servers
from benchmarks.peak import write_rows
from benchmarks.report import Result
from benchmarks.streaming import Streamer, streamer
from lancespace import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 5
TABLES = ("warm", "rest", "sdk", "tuned")


def measure(folder: str, megabytes: int) -> Iterator[Result]:
    """The same rows out of a table and into tables; everybody takes turns, and has had one before it counts."""
    small, large = write_rows(f"{folder}/small", 10), write_rows(f"{folder}/large", megabytes)
    locations = _tables(f"{folder}/catalog", small, large)
    with ExitStack() as stack:
        server = stack.enter_context(servers.ours(f"{folder}/catalog", 1))
        who = {kind: stack.enter_context(streamer(kind)) for kind in ("sdk", "tuned")}
        who["rest"] = client = stack.enter_context(streamer("rest", f"http://127.0.0.1:{server.port}"))
        client("insert", "warm", small)
        client("query", "warm")
        before = server.peak_megabytes()
        once = {kind: "once" if kind == "rest" else locations["once"] for kind in who}
        taken = _in_turns(who, "query", {kind: (once[kind],) for kind in who})
        yield _result(f"query of {megabytes} MB", megabytes, taken, before, server, client)
        targets = {kind: "rest" if kind == "rest" else locations[kind] for kind in who}
        taken = _in_turns(who, "insert", {kind: (targets[kind], large) for kind in who})
        yield _result(f"insert of {megabytes} MB", megabytes, taken, before, server, client)


def _tables(root: str, small: str, large: str) -> dict[str, str]:
    """A large table to read and small ones to write to; where they are."""
    with connect("dir", {"root": root}) as namespace:
        for table in TABLES:
            namespace.create_table(table, pa.ipc.open_stream(pa.OSFile(small)))
        namespace.create_table("once", pa.ipc.open_stream(pa.OSFile(large)))
        return {table: namespace.describe_table(table).location or "" for table in (*TABLES, "once")}


def _in_turns(who: dict[str, Streamer], work: str, arguments: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """The median of the seconds of each, without the first turn."""
    taken: dict[str, list[float]] = {kind: [] for kind in who}
    for _ in range(1 + ROUNDS):
        for kind, each in who.items():
            taken[kind].append(each(work, *arguments[kind]))
    return {kind: statistics.median(seconds[1:]) for kind, seconds in taken.items()}


def _result(
    case: str, megabytes: int, taken: dict[str, float], before: float, server: servers.Server, client: Streamer
) -> Result:
    rates = {f"{kind}_mb_per_s": megabytes / seconds for kind, seconds in taken.items()}
    shares = {"share": taken["sdk"] / taken["rest"], "share_of_tuned": taken["tuned"] / taken["rest"]}
    memory = {
        "server_mb_before": before,
        "server_mb_peak": server.peak_megabytes(),
        "client_mb_peak": client.peak_megabytes(),
    }
    return Result(case, {**rates, **shares, **memory}, "0.6, memory flat")
