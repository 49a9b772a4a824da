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
from lance_namespace import ConcurrentModificationError, InvalidInputError, TableColumnNotFoundError

from lancespace.errors import translated
from lancespace.handles import TableHandle
from lancespace.jobs.changing import ADDRESS
from lancespace.jobs.stages import Stage
from lancespace_spark import twins
from lancespace_spark.casting import cast_batch
from lancespace_spark.source import NAME
from lancespace_spark.types import stored_schema

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace
    from lancespace.identifiers import Identifier

ROUNDS = 10
ANSWER = "fragments string, rows long, addresses binary"
"""What each task tells: its data files, how many rows are in them, and which rows of the table they replace."""
WANTED = {
    (True, True): None,
    (True, False): f"{ADDRESS} IS NOT NULL",
    (False, True): f"{ADDRESS} IS NULL",
}
"""Which rows are written, by whether keys that are there are updated, and those that are not are inserted."""


@dataclass(frozen=True)
class Merged:
    """What an upsert did."""

    updated: int
    inserted: int
    version: int


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
    each key once. If others change the same rows meanwhile, it runs again on what it finds. If they add rows with the
    same keys, Lance lets both commits pass; then theirs are deleted in a second one, as if they had been replaced.

    Raises:
        InvalidInputError: If the source has a key twice or null, or lacks columns, or the table has a key twice.
        ConcurrentModificationError: If others were faster every time.
    """
    handle = TableHandle.of(namespace, table)
    if (update, insert) not in WANTED:
        raise InvalidInputError("an upsert that neither updates nor inserts does nothing: leave out one of the two")
    _check(handle, source, on)
    for _ in range(ROUNDS):
        try:
            return _Merge(spark, handle, source, list(on), WANTED[update, insert]).run()
        except ConcurrentModificationError as error:
            refused = error
    raise refused


class _Merge:
    """One attempt, on one version of the table."""

    def __init__(
        self, spark: SparkSession, handle: TableHandle, source: DataFrame, on: list[str], condition: str | None
    ) -> None:
        self._spark = spark
        self._handle = handle
        self._source = source
        self._on = on
        self._condition = condition
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
        done, replaced = self._dataset, addresses.size
        with self._stage.published({"fragments": json.loads(one["fragments"])} for one in told) as fragments:
            if fragments:
                done = self._commit(addresses, fragments)
        if done.version > self._dataset.version + 1:
            replaced += twins.remove(self._handle, done, self._dataset, fragments, self._on)
        return Merged(replaced, sum(one["rows"] for one in told) - replaced, done.version)

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

    def _commit(self, addresses: np.ndarray, fragments: list[FragmentMetadata]) -> lance.LanceDataset:
        """Mark the replaced rows, and commit; nobody sees the marks before that.

        The marks are written here and not by tasks: one small file for each fragment that is touched, which a task that
        dies could leave behind.
        """
        import lance

        marks = twins.mark(self._dataset, addresses)
        left, gone = twins.split(marks)
        operation = lance.LanceOperation.Update(gone, left, fragments)
        try:
            with translated(f"upsert into table {self._handle.name!r}"):
                return lance.LanceDataset.commit(self._dataset, operation, read_version=self._dataset.version)
        except ConcurrentModificationError:
            twins.withdraw(self._handle, marks)
            raise


def _write_task(
    stage: Stage, schema: pa.Schema, on: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: list[pa.RecordBatch] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found.append(batch.select([*on, ADDRESS]))
                yield cast_batch(batch, schema)

        written = stage.write(rows(), schema)
        replaced = np.empty(0, np.int64)
        if found:
            keys = pa.Table.from_batches(found)
            _refuse_twice(keys, on)
            replaced = np.asarray(keys[ADDRESS].drop_null(), np.int64)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([json.dumps(written["fragments"])], pa.string()),
                pa.array([written["rows"]], pa.int64()),
                pa.array([replaced.tobytes()], pa.binary()),
            ],
            names=["fragments", "rows", "addresses"],
        )

    return task


def _refuse_twice(keys: pa.Table, on: list[str]) -> None:
    """Refuse keys that are null, or there more than once: of the source or, at several addresses, of the table."""
    for name in on:
        if keys[name].null_count:
            raise InvalidInputError(f"the source of the upsert has rows whose key {name!r} is null")
    counted = keys.group_by(on).aggregate([([], "count_all"), (ADDRESS, "count_distinct")])
    several = counted.filter(pc.field("count_all") > 1).slice(0, 1).to_pylist()
    if several:
        who = "the table" if several[0][f"{ADDRESS}_count_distinct"] > 1 else "the source of the upsert"
        raise InvalidInputError(f"{who} has several rows with the key { {name: several[0][name] for name in on} }")


def _addresses(told: list[Any]) -> np.ndarray:
    found = [np.frombuffer(one["addresses"], np.int64) for one in told]
    return np.concatenate(found) if found else np.empty(0, np.int64)


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
