"""A stream of what is appended to a table: its versions are the offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidTableStateError, UnsupportedOperationError
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from lancespace_spark import columns
from lancespace_spark.reading import partitions_of, read_rows
from lancespace_spark.transactions import operation_of
from lancespace_spark.types import wire_schema

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lancespace_spark.options import SourceOptions

WITHOUT_ROWS = frozenset({"Rewrite", "CreateIndex", "UpdateConfig", "ReserveFragments"})
"""Transactions after which a table has the rows it had before: compaction, indexes, settings."""

OF_COLUMNS = frozenset({"Merge", "Project"})
"""Transactions that add or drop columns: rows that a stream has passed on, with the columns it knows, stay the same."""


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """First the table as it is, then what each version appends.

    A version that changes or deletes rows ends the stream with an error, since a stream cannot take rows back; with
    ``skip_changes`` such a version is passed over.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Version 0, before everything, or the one that the option ``starting_version`` names."""
        return {"version": self._options.get("starting_version") or 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """So many versions, if there is a limit; to Spark, a version is a file."""
        versions = self._options.get("max_versions_per_trigger")
        return ReadAllAvailable() if versions is None else ReadMaxFiles(versions)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What is committed from now on is for another run."""
        self._target = self._dataset().version

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """The version up to which the next batch goes."""
        dataset = self._dataset()
        last = dataset.version if self._target is None else min(dataset.version, self._target)
        if isinstance(limit, ReadMaxFiles):
            last = min(last, self._limited(dataset, start["version"], limit.max_files))
        return {"version": max(last, start["version"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The whole table for a first batch; afterwards the fragments that each version appended."""
        dataset = self._dataset()
        if start["version"] == 0 and end["version"] > 0:
            whole = at(dataset, end["version"])
            columns.check(self._schema.names, whole, dataset)
            return partitions_of(whole, whole.get_fragments(), self._options, self._schema.names)
        return list(increments(self._options, dataset, start["version"], end["version"], self._schema.names))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, as Spark's JVM expects them."""
        return read_rows(self._options, wire_schema(self._schema), partition)

    def _dataset(self) -> lance.LanceDataset:
        return self._options.handle.open(branch=self._options.get("branch"))

    def _limited(self, dataset: lance.LanceDataset, start: int, versions: int) -> int:
        """The end of a batch of so many versions.

        A first batch cannot end before the oldest version from which all others are still there: clean-up may have
        left older ones that have tags.
        """
        if start > 0:
            return start + versions
        there = {version["version"] for version in dataset.versions()}
        oldest = next(version for version in range(dataset.version, -1, -1) if version - 1 not in there)
        return max(versions, oldest)


def increments(
    options: SourceOptions, dataset: lance.LanceDataset, start: int, end: int, names: Sequence[str] = ()
) -> Iterator[InputPartition]:
    """The rows that were appended after one version, up to another.

    Raises:
        UnsupportedOperationError: If a version between changed or removed rows, and ``skip_changes`` is not set.
        InvalidTableStateError: If a version between is gone.
        TableColumnNotFoundError: If it lacks a column that the table did not get later.
    """
    for version in range(start + 1, end + 1):
        appended = _appended(options, dataset, version)
        if appended:
            now = at(dataset, version)
            columns.check(names, now, dataset)
            yield from partitions_of(now, appended, options, names)


def _appended(options: SourceOptions, dataset: lance.LanceDataset, version: int) -> list[Any]:
    """The fragments that a version added to those before it.

    Whether it left the others as they were, they tell themselves: by its name alone, an update may only insert rows,
    and of some transactions pylance does not know the name.
    """
    now = at(dataset, version)
    kind = operation_of(dataset, version)
    if kind in WITHOUT_ROWS:
        return []
    before, after = (contents(one, is_of_columns=kind in OF_COLUMNS) for one in (at(dataset, version - 1), now))
    if all(after.get(number) == content for number, content in before.items()):
        return [fragment for fragment in now.get_fragments() if fragment.fragment_id not in before]
    if options.get("skip_changes"):
        return []
    raise UnsupportedOperationError(
        f"version {version} of table {options.handle.name!r} is a {kind}: it changed or removed rows, which a stream "
        "cannot pass on. Start a new stream (with starting_version, to begin after it), or set the option skip_changes "
        "to 'true' to leave such versions out."
    )


def contents(dataset: lance.LanceDataset, *, is_of_columns: bool = False) -> dict[int, tuple[Any, ...]]:
    """What tells whether the rows of fragments are the same; a change of columns exchanges files, and no rows."""
    found = {one.fragment_id: one.metadata for one in dataset.get_fragments()}
    if is_of_columns:
        return {number: (one.physical_rows, one.deletion_file) for number, one in found.items()}
    return {number: (one.files, one.overlays, one.deletion_file) for number, one in found.items()}


def at(dataset: lance.LanceDataset, version: int) -> lance.LanceDataset:
    """Another version of a table.

    Raises:
        InvalidTableStateError: If it is gone.
    """
    try:
        return dataset.checkout_version(version)
    except (ValueError, OSError) as error:
        raise InvalidTableStateError(
            f"version {version} of the table is gone, so the stream cannot tell what it appended: "
            "keep versions longer than the stream may pause, and start a new stream"
        ) from error
