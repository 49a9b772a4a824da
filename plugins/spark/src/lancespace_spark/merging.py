"""Upserts: rows of a DataFrame merged into a table by key, on the cluster, in one commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from lance_namespace import ConcurrentModificationError, InvalidInputError, TableColumnNotFoundError

from lancespace.errors import translated
from lancespace.handles import TableHandle
from lancespace.jobs.changing import ADDRESS
from lancespace.jobs.stages import Stage
from lancespace_spark.casting import cast_batch
from lancespace_spark.source import NAME
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace
    from lancespace.identifiers import Identifier

ROUNDS = 5
ANSWER = "fragments string, rows long, addresses binary"
"""What each task tells: its data files, how many rows are in them, and which rows of the table they replace."""


@dataclass(frozen=True)
class Merged:
    """What an upsert did."""

    updated: int
    inserted: int
    version: int


@dataclass(frozen=True)
class _Deletion:
    """Rows of a fragment that are replaced."""

    table: TableHandle
    version: int
    fragment: int
    offsets: tuple[int, ...]


def upsert(
    spark: SparkSession,
    namespace: Namespace,
    table: Identifier,
    source: DataFrame,
    on: Sequence[str],
    *,
    update: bool = True,
    insert: bool = True,
) -> Merged:
    """Replace the rows whose key is in the table already, and insert the others, in one commit.

    ``on`` names the columns of the key. The source must have every column of the table, and each key once. Beside
    concurrent writers no key comes to be there twice: if others have changed the table, the upsert runs again on what
    it finds; if an append with one of its keys slips in at the last moment, it fails and names the key.

    Raises:
        InvalidInputError: If the source has a key twice, or lacks columns.
        ConcurrentModificationError: If others were faster every time, or appended one of the keys.
    """
    handle = TableHandle.of(namespace, table)
    _check(handle, source, on)
    for attempt in range(ROUNDS):
        merge = _Merge(spark, handle, source, list(on), update=update, insert=insert)
        try:
            return merge.run(is_last=attempt == ROUNDS - 1)
        except ConcurrentModificationError:
            if attempt == ROUNDS - 1:
                raise
    raise AssertionError  # The last attempt returns or raises.


class _Merge:
    """One attempt, on one version of the table."""

    def __init__(
        self,
        spark: SparkSession,
        handle: TableHandle,
        source: DataFrame,
        on: list[str],
        *,
        update: bool,
        insert: bool,
    ) -> None:
        self._spark = spark
        self._handle = handle
        self._source = source
        self._on = on
        self._wanted = {
            (True, True): None,
            (True, False): f"{ADDRESS} IS NOT NULL",
            (False, True): f"{ADDRESS} IS NULL",
        }
        self._condition = self._wanted[update, insert]
        self._dataset = handle.open()
        self._stage = Stage(handle, uuid.uuid4().hex, "append")

    def run(self, *, is_last: bool) -> Merged:
        self._stage.prepare()
        kept: list[FragmentMetadata] = []
        try:
            told = self._written()
            addresses = _addresses(told)
            changed = self._deleted(addresses)
            if not is_last and self._handle.open().version != self._dataset.version:
                raise ConcurrentModificationError(f"table {self._handle.name!r} was changed meanwhile")
            fragments = self._stage.publish([{"fragments": json.loads(one["fragments"])} for one in told])
            version = self._commit(changed, fragments) if fragments else self._dataset.version
            kept = fragments
        finally:
            self._stage.discard(kept)
        rows = sum(one["rows"] for one in told)
        return Merged(len(addresses), rows - len(addresses), version)

    def _written(self) -> list[Any]:
        """Write the rows; all rows of a key meet in one task, which sees if there are several."""
        schema = stored_schema(self._source.schema, {}, self._dataset.schema)
        joined = self._source.join(self._keys(), self._on, "left")
        chosen = joined if self._condition is None else joined.where(self._condition)
        task = _write_task(self._stage, schema, self._on)
        return chosen.repartition(*self._on).mapInArrow(task, ANSWER).collect()

    def _keys(self) -> DataFrame:
        """The keys of the table, and where their rows are."""
        options = {"namespace": self._handle.backend, "table": self._handle.name, **self._handle.properties}
        reader = self._spark.read.format(NAME).options(**options)
        columns = ",".join([*self._on, ADDRESS])
        return reader.option("version", str(self._dataset.version)).option("columns", columns).load()

    def _deleted(self, addresses: np.ndarray) -> dict[int, dict[str, Any] | None]:
        """Mark the replaced rows, fragment by fragment; nobody sees it before the commit."""
        owners = addresses >> 32
        tasks = [
            _Deletion(
                self._handle,
                self._dataset.version,
                int(number),
                tuple((addresses[owners == number] & 0xFFFFFFFF).tolist()),
            )
            for number in np.unique(owners)
        ]
        if not tasks:
            return {}
        found = self._spark.sparkContext.parallelize(tasks, len(tasks)).map(_delete_rows).collect()
        return {task.fragment: left for task, left in zip(tasks, found, strict=True)}

    def _commit(self, changed: dict[int, dict[str, Any] | None], fragments: list[FragmentMetadata]) -> int:
        import lance
        from lance.fragment import FragmentMetadata

        left = [FragmentMetadata.from_json(json.dumps(one)) for one in changed.values() if one is not None]
        gone = [number for number, one in changed.items() if one is None]
        operation = lance.LanceOperation.Update(gone, left, fragments)
        with translated(f"upsert into table {self._handle.name!r}"):
            done = lance.LanceDataset.commit(self._dataset, operation, read_version=self._dataset.version)
        if done.version > self._dataset.version + 1:
            self._refuse_twice(done)
        version: int = done.version
        return version

    def _refuse_twice(self, done: lance.LanceDataset) -> None:
        """After others slipped in between: look whether one of them appended a key of ours."""
        before = {fragment.fragment_id for fragment in self._dataset.get_fragments()}
        new = [fragment for fragment in done.get_fragments() if fragment.fragment_id not in before]
        keys = done.scanner(columns=self._on, fragments=new).to_table()
        twice = _twice(keys, self._on)
        if twice is not None:
            raise ConcurrentModificationError(
                f"while rows were upserted into table {self._handle.name!r}, somebody else appended rows with the same "
                f"key, e.g. {twice}: both are in version {done.version}. Delete one of them, or restore version "
                f"{self._dataset.version} and run the upsert again"
            )


def _write_task(
    stage: Stage, schema: pa.Schema, on: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        addresses: list[pa.Array] = []
        keys: list[pa.RecordBatch] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                addresses.append(batch.column(ADDRESS).drop_null())
                keys.append(batch.select(on))
                yield cast_batch(batch, schema)

        written = stage.write(rows(), schema)
        twice = _twice(pa.Table.from_batches(keys), on) if keys else None
        if twice is not None:
            raise InvalidInputError(f"the source of the upsert has several rows with the key {twice}")
        replaced = (
            np.concatenate([np.asarray(one, np.int64) for one in addresses]) if addresses else np.empty(0, np.int64)
        )
        told = [[json.dumps(written["fragments"])], [written["rows"]], [replaced.tobytes()]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(told[0], pa.string()), pa.array(told[1], pa.int64()), pa.array(told[2], pa.binary())],
            names=["fragments", "rows", "addresses"],
        )

    return task


def _delete_rows(task: _Deletion) -> dict[str, Any] | None:
    fragment = task.table.open(task.version).get_fragment(task.fragment)
    left = fragment.delete_rows(task.offsets)
    return None if left is None else left.to_json()


def _addresses(told: list[Any]) -> np.ndarray:
    found = [np.frombuffer(one["addresses"], np.int64) for one in told]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _twice(keys: pa.Table, on: list[str]) -> dict[str, Any] | None:
    """A key that is there more than once, or None."""
    import pyarrow.compute as pc

    counted = keys.group_by(on).aggregate([([], "count_all")])
    several = counted.filter(pc.field("count_all") > 1)
    return several.select(on).slice(0, 1).to_pylist()[0] if several.num_rows else None


def _check(handle: TableHandle, source: DataFrame, on: Sequence[str]) -> None:
    """Have what is wrong said before any task runs."""
    columns = handle.open().schema.names
    if not on:
        raise InvalidInputError("upsert needs 'on': the columns whose values identify a row")
    for name in on:
        if name not in columns:
            raise TableColumnNotFoundError(f"table {handle.name!r} has no column {name!r} to match on")
    missing = [name for name in columns if name not in source.columns]
    if missing:
        raise InvalidInputError(
            f"the source lacks the column {', '.join(missing)} of table {handle.name!r}: a row is replaced as a whole"
        )
