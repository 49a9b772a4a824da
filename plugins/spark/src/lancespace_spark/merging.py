"""Upserts: rows of a DataFrame merged into a table by key, on the cluster, in one commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import ConcurrentModificationError, InvalidInputError

from lancespace_jobs import ADDRESS, Stage, TableSpec, commit_next
from lancespace_spark import keys, marks
from lancespace_spark.casting import cast_batch
from lancespace_spark.failures import public
from lancespace_spark.mapping import map_batches
from lancespace_spark.rivals import Upserted
from lancespace_spark.scans import scan
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace
    from lancespace.authoring import Identifier

ROUNDS = 10
"""How often an upsert is computed, if others change what it was computed from."""
TRIES = 50
"""How often it is committed, if others commit something else meanwhile: that takes no longer than to look at it."""
ANSWER = "fragments string, rows long, addresses binary"
"""What each task tells: its data files, how many rows are in them, and which rows of the table they replace."""
PLACES = "place"
"""What columns are called on their way through Spark, with a number: their own names may mean something in its SQL."""


@dataclass(frozen=True)
class Merged:
    """What an upsert did."""

    updated: int
    inserted: int
    version: int


@public
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

    ``on`` names the columns of the key, which must not be null. The source must have every column of the table, and
    each key once. If others change the same rows meanwhile, or add rows with the same keys, it runs again on what it
    finds: no version has a key twice.

    Raises:
        InvalidInputError: If the source has a key twice or null, or lacks columns, or the table has a key twice.
        ConcurrentModificationError: If others were faster every time.
    """
    handle = TableSpec.of(namespace, table)
    if not update and not insert:
        raise InvalidInputError("an upsert that neither updates nor inserts does nothing: leave out one of the two")
    keys.check(handle, handle.open().schema, source.columns, on)
    for _ in range(ROUNDS):
        try:
            return _Merge(spark, handle, source, list(on), _Kinds(update, insert)).run()
        except ConcurrentModificationError as error:
            refused = error
    raise refused


@dataclass(frozen=True)
class _Kinds:
    """Which rows are written."""

    update: bool
    insert: bool

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that are; those that have an address are in the table already."""
        if self.update and self.insert:
            return batch
        is_there = batch.column(ADDRESS).is_valid()
        return batch.filter(is_there if self.update else pc.invert(is_there))


class _Merge:
    """One attempt, on one version of the table."""

    def __init__(self, spark: SparkSession, handle: TableSpec, source: DataFrame, on: list[str], kinds: _Kinds) -> None:
        self._spark = spark
        self._handle = handle
        self._source = source
        self._on = on
        self._kinds = kinds
        self._dataset = handle.open()
        self._stage = Stage(handle, uuid.uuid4().hex, "append")

    def run(self) -> Merged:
        self._stage.prepare()
        try:
            told = self._written()
        except BaseException:
            self._stage.discard()
            raise
        addresses = _addresses(told)
        version: int = self._dataset.version
        with self._stage.published({"fragments": json.loads(one["fragments"])} for one in told) as fragments:
            if fragments:
                version = self._commit(addresses, fragments)
        return Merged(addresses.size, sum(one["rows"] for one in told) - addresses.size, version)

    def _written(self) -> list[Any]:
        """Write the rows; all rows of a key meet in one task, which sees if there are several."""
        names = self._source.columns
        schema = stored_schema(self._source.schema, {}, self._dataset.schema)
        places = {name: f"{PLACES}{number}" for number, name in enumerate(names)}
        on = [places[name] for name in self._on]
        source = keys.cast(self._source, self._on, self._dataset.schema).toDF(*places.values())
        joined = source.join(self._stored(on), on, "left").select(*places.values(), ADDRESS)
        task = _write_task(self._stage, schema, names, self._on, self._kinds)
        return map_batches(joined.repartition(*on), task, ANSWER).collect()

    def _stored(self, on: list[str]) -> DataFrame:
        """The keys of the table, and where their rows are."""
        fields = [*map(self._dataset.schema.field, self._on), pa.field(ADDRESS, pa.uint64())]
        return scan(self._spark, self._handle, self._dataset, pa.schema(fields)).toDF(*on, ADDRESS)

    def _commit(self, addresses: np.ndarray, fragments: list[FragmentMetadata]) -> int:
        """Mark the replaced rows, and commit; nobody sees the marks before that.

        The marks are written here and not by tasks: one small file for each fragment that is touched, which a task that
        dies could leave behind.
        """
        marked = marks.mark(self._dataset, addresses)
        try:
            return self._commit_marked(marked, fragments)
        except ConcurrentModificationError:
            marks.withdraw(self._handle, marked)
            raise

    def _commit_marked(self, marked: marks.Marks, fragments: list[FragmentMetadata]) -> int:
        """Commit on top of the latest version, once it is known that this one holds there, too."""
        import lance
        from lance.dataset import Transaction

        left, gone = marks.split(marked)
        update = lance.LanceOperation.Update(gone, left, fragments)
        done, base = Upserted(self._handle, fragments, marked.keys(), self._on), self._dataset
        for _ in range(TRIES):
            latest = self._handle.open()
            done.check(base, latest)
            base = latest
            try:
                return commit_next(self._handle, Transaction(base.version, update))
            except ConcurrentModificationError as error:
                refused = error
        raise refused


def _write_task(
    stage: Stage, schema: pa.Schema, names: list[str], on: list[str], kinds: _Kinds
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: list[pa.RecordBatch] = []
        replaced: list[np.ndarray] = [np.empty(0, np.int64)]

        def rows() -> Iterator[pa.RecordBatch]:
            for placed in batches:
                batch = placed.rename_columns([*names, ADDRESS])
                found.append(batch.select([*on, ADDRESS]))
                chosen = kinds.of(batch)
                replaced.append(np.asarray(chosen.column(ADDRESS).drop_null(), np.int64))
                if chosen.num_rows:
                    yield cast_batch(chosen, schema)

        written = stage.write(rows(), schema)
        if found:
            keys.refuse(pa.Table.from_batches(found), on)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([json.dumps(written["fragments"])], pa.string()),
                pa.array([written["rows"]], pa.int64()),
                pa.array([np.concatenate(replaced).tobytes()], pa.binary()),
            ],
            names=["fragments", "rows", "addresses"],
        )

    return task


def _addresses(told: list[Any]) -> np.ndarray:
    found = [np.frombuffer(one["addresses"], np.int64) for one in told]
    return np.concatenate(found) if found else np.empty(0, np.int64)
