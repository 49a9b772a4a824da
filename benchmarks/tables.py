"""Table operations beside pylance's DirectoryNamespace: the same requests on equal tables, in one run.

LANCESPACE_BENCH_ROWS chooses the size of the table (default 1000000), LANCESPACE_BENCH_INSERT_MB that of the large
insert (default 500). Both must give the same answers, otherwise there is nothing to compare.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from lance_namespace import (
    CountTableRowsRequest,
    InsertIntoTableRequest,
    LanceNamespace,
    MergeInsertIntoTableRequest,
    QueryTableRequest,
)

from benchmarks.catalog import OPEN
from benchmarks.peak import peak_megabytes, write_rows
from benchmarks.report import Result
from benchmarks.rows import SCHEMA, batches, rows, to_ipc, vector
from lancespace import connect

ROWS = int(os.environ.get("LANCESPACE_BENCH_ROWS", "1000000"))
INSERT_MB = int(os.environ.get("LANCESPACE_BENCH_INSERT_MB", "500"))
ROUNDS = 41
WARMUPS = 3
INSERTED = 10_000
MERGED = 1_000
TABLE = ["bench", "items"]
GOAL = "not slower by more than 5 %"


@dataclass(frozen=True)
class Case:
    """A call that both of them take."""

    name: str
    call: Callable[[Any, int], Any]
    """Takes the namespace and the number of the round."""
    answer: Callable[[Any], object]
    """What of the response must be the same for both."""


def run() -> Iterator[Result]:
    """Reads, then writes, then the memory that a large insert takes."""
    with tempfile.TemporaryDirectory() as folder:
        _catalog(f"{folder}/ours")
        shutil.copytree(f"{folder}/ours", f"{folder}/rust")
        namespaces = {who: connect_to(f"{folder}/{who}") for who, connect_to in OPEN.items()}
        for case in chain(_reads(), _writes()):
            yield _compare(case, namespaces)
    with tempfile.TemporaryDirectory() as folder:
        yield from _memory(folder)


def _catalog(root: str) -> None:
    """A catalog with one table that has a vector index and a full-text index."""
    with connect("dir", {"root": root}) as namespace:
        namespace.create_namespace(TABLE[:-1])
        namespace.create_table(TABLE, pa.RecordBatchReader.from_batches(SCHEMA, batches(ROWS)))
        namespace.create_table_index(TABLE, column="vector", index_type="IVF_PQ", num_partitions=64, num_sub_vectors=8)
        namespace.create_table_scalar_index(TABLE, column="category", index_type="INVERTED")


def _reads() -> Iterator[Case]:
    counted = CountTableRowsRequest(id=TABLE, predicate=f"category = 'amber lamp' AND id < {ROWS // 2}")
    yield Case("filtered count", lambda ns, _: ns.count_table_rows(counted), lambda answer: answer.count)
    near = {"single_vector": vector(seed=ROWS)}
    yield _query("vector query, flat", "_distance", vector=near, bypass_vector_index=True)
    yield _query("vector query, IVF_PQ", "_distance", vector=near, nprobes=8)
    words = {"string_query": {"query": "amber lamp"}}
    yield _query("full-text query", "_score", vector={}, full_text_query=words)


def _query(name: str, score: str, **fields: Any) -> Case:
    """A search for ten rows; they must be as good for both, ties may be broken either way."""
    columns = {"column_names": ["id", "category", score]}
    request = QueryTableRequest.model_validate({"id": TABLE, "k": 10, "columns": columns, **fields})
    return Case(
        name, lambda ns, _: ns.query_table(request), lambda answer: pa.ipc.open_file(answer.data).read_all()[score]
    )


def _writes() -> Iterator[Case]:
    numbers = range(WARMUPS + ROUNDS)
    new = [to_ipc(rows(range(ROWS + at * INSERTED, ROWS + (at + 1) * INSERTED), seed=at)) for at in numbers]
    insert = InsertIntoTableRequest(id=TABLE)
    yield Case(
        f"insert of {INSERTED} rows",
        lambda ns, number: ns.insert_into_table(insert, new[number]),
        lambda answer: answer.version,
    )
    mixed = [to_ipc(rows(_half_known(at), seed=at)) for at in numbers]
    merge = MergeInsertIntoTableRequest(
        id=TABLE, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True
    )
    yield Case(
        f"merge_insert of {MERGED} rows by key",
        lambda ns, number: ns.merge_insert_into_table(merge, mixed[number]),
        lambda answer: (answer.num_updated_rows, answer.num_inserted_rows),
    )


def _half_known(number: int) -> list[int]:
    """Keys of a merge: one half is in the table from the start, the other is new in each round."""
    half = MERGED // 2
    return [*range(number * half, (number + 1) * half), *range(-(number + 1) * half, -number * half)]


def _compare(case: Case, namespaces: Mapping[str, LanceNamespace]) -> Result:
    """The median times of a call, where the two take turns at who is first, and the median ratio of neighbours."""
    times: dict[str, list[float]] = {who: [] for who in namespaces}
    for number in range(WARMUPS + ROUNDS):
        answers = {}
        for who in sorted(namespaces, reverse=bool(number % 2)):
            started = time.perf_counter()
            response = case.call(namespaces[who], number)
            times[who].append(time.perf_counter() - started)
            answers[who] = case.answer(response)
        if answers["ours"] != answers["rust"]:
            raise RuntimeError(f"{case.name}: the answers differ, so the times say nothing: {answers}")
    ours, rust = (times[who][WARMUPS:] for who in ("ours", "rust"))
    numbers = {
        "ours_ms": statistics.median(ours) * 1e3,
        "rust_ms": statistics.median(rust) * 1e3,
        "ratio": statistics.median(theirs / mine for mine, theirs in zip(ours, rust, strict=True)),
    }
    return Result(case.name, numbers, GOAL)


def _memory(folder: str) -> Iterator[Result]:
    """Ours takes a stream as well as bytes; the peer takes bytes only, so all of them are in memory."""
    path = write_rows(f"{folder}/rows.arrows", INSERT_MB)
    rust = peak_megabytes("rust", "bytes", f"{folder}/rust", path)
    for form in ("stream", "bytes"):
        ours = peak_megabytes("ours", form, f"{folder}/{form}", path)
        numbers = {"ours_mb": ours, "rust_mb": rust, "ratio": rust / ours}
        yield Result(f"peak memory, insert of {INSERT_MB} MB as {form}", numbers, "less than the peer")
