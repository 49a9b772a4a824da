"""Spark SQL over the tables of a namespace, which reads only the columns and rows that a statement needs.

Spark asks a Python data source for all columns and all rows. So a statement is planned twice: once to see in the
optimized plan what each of its scans needs, and then with scans that read just that.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import NamespaceNotFoundError, TableNotFoundError, UnsupportedOperationError
from pyspark.errors import AnalysisException, PySparkException

from lancespace import identifiers
from lancespace.handles import TableHandle
from lancespace_spark import plans
from lancespace_spark.source import NAME
from lancespace_spark.types import spark_schema

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from lancespace import Namespace

MARKER = "occurrence"
"""The option by which a mention is known again in a plan."""


@dataclass(frozen=True)
class _Bound:
    """A mention of a table of the namespace, at the version that the statement reads."""

    number: int
    mention: plans.Mention
    handle: TableHandle
    dataset: lance.LanceDataset
    view: str


def sql(spark: SparkSession, namespace: Namespace, statement: str) -> DataFrame:
    """Run a query over tables of a namespace by their names, together with Spark's own tables and views.

    Every table is read at the version that is the latest now, each mention of it alike.

    Raises:
        TableNotFoundError: If neither the namespace nor Spark has a table that the statement names.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedOperationError(
            "lancespace_spark.sql looks into Spark's plans, which Spark Connect does not show: "
            "use lancespace_spark.attach and spark.sql there"
        )
    parsed = plans.parse(spark, statement)
    bound = list(_bind(spark, namespace, parsed.mentions))
    text = _rewritten(statement, bound)
    with _views(spark, [_whole(spark, one).option("dry", "true") for one in bound], bound):
        planned = spark.sql(text)
        needed = plans.needs(planned, MARKER)
    names = {word.lower() for word in parsed.words}
    readers = [_reduced(spark, one, needed.get(one.number, plans.Need()), names) for one in bound]
    try:
        with _views(spark, readers, bound):
            return spark.sql(text)
    except AnalysisException:  # A name that only the whole table has, in a place where no column is expected.
        with _views(spark, [_whole(spark, one) for one in bound], bound):
            return spark.sql(text)


def attach(spark: SparkSession, namespace: Namespace, parent: str = "") -> list[str]:
    """Make every table below a namespace a temporary view of the session, under its dotted name: ```sales.orders```.

    A view shows the version that is the latest now; attach again to see later ones. The answer is the names.
    """
    backend, properties = namespace.recipe()
    attached = []
    for name in _tables_below(namespace, parent):
        reader = spark.read.format(NAME).options(namespace=backend, table=name, **properties)
        reader.load().createOrReplaceTempView(f"`{name}`")
        attached.append(name)
    return attached


def _bind(spark: SparkSession, namespace: Namespace, found: Sequence[plans.Mention]) -> Iterator[_Bound]:
    backend, properties = namespace.recipe()
    prefix = f"lancespace_{uuid.uuid4().hex}"
    opened: dict[tuple[str, ...], lance.LanceDataset] = {}
    for number, mention in enumerate(found):
        if not namespace.table(list(mention.names)).exists() and _is_sparks(spark, mention):
            continue
        handle = TableHandle(backend, properties, mention.names)
        if mention.names not in opened:
            opened[mention.names] = _open(namespace, handle)
        yield _Bound(number, mention, handle, opened[mention.names], f"{prefix}_{number}")


def _open(namespace: Namespace, handle: TableHandle) -> lance.LanceDataset:
    try:
        return handle.open()
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        near = get_close_matches(handle.name, list(_tables_below(namespace, "")), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise TableNotFoundError(f"Neither the namespace nor Spark has a table {handle.name!r}.{hint}") from error


def _is_sparks(spark: SparkSession, mention: plans.Mention) -> bool:
    try:
        return spark.catalog.tableExists(".".join(f"`{name}`" for name in mention.names))
    except PySparkException:  # The first of three names must be a catalog of Spark's; it is asked only if so.
        return False


def _rewritten(statement: str, bound: Sequence[_Bound]) -> str:
    """The statement with the names of views in place of those of tables; a column may still be qualified by a name."""
    text = statement
    for one in reversed(bound):
        rest = text[one.mention.stop + 1 :]
        alias = f" AS `{one.mention.names[-1]}`" if one.mention.takes_alias else ""
        text = f"{text[: one.mention.start]}{one.view}{alias}{rest}"
    return text


@contextmanager
def _views(spark: SparkSession, readers: Sequence[DataFrameReader], bound: Sequence[_Bound]) -> Iterator[None]:
    """The views that a statement is analysed with; its plan does not need them any more."""
    try:
        for reader, one in zip(readers, bound, strict=True):
            reader.load().createOrReplaceTempView(one.view)
        yield
    finally:
        for one in bound:
            spark.catalog.dropTempView(one.view)


def _whole(spark: SparkSession, one: _Bound) -> DataFrameReader:
    """A scan of all columns and rows; the schema is told, so that Spark need not ask."""
    options = {"namespace": one.handle.backend, "table": one.handle.name, MARKER: str(one.number)}
    reader = spark.read.format(NAME).schema(spark_schema(one.dataset.schema))
    return reader.options(version=str(one.dataset.version), **options, **one.handle.properties)


def _reduced(spark: SparkSession, one: _Bound, need: plans.Need, names: set[str]) -> DataFrameReader:
    """A scan of what is needed of a table: of its rows, and of its columns where it makes no difference which it has.

    Columns that the text names are there when it is analysed, even if they are not needed afterwards.
    """
    reader = _whole(spark, one)
    if need.filter and _is_understood(one.dataset, need.filter):
        reader = reader.option("filter", need.filter)
    if not one.mention.is_selected:
        return reader
    kept = [field for field in one.dataset.schema if field.name in need.columns or field.name.lower() in names]
    return reader.schema(spark_schema(pa.schema(kept or [_narrowest(one.dataset.schema)])))


def _is_understood(dataset: lance.LanceDataset, condition: str) -> bool:
    """Whether Lance can evaluate a condition; on an unsigned column, for example, it refuses negative numbers."""
    try:
        dataset.scanner(columns=[], with_row_id=True, filter=condition).explain_plan()
    except (ValueError, OSError):
        return False
    return True


def _narrowest(schema: pa.Schema) -> pa.Field:
    """A column to count rows by: the one with the shortest values."""

    def width(field: pa.Field) -> int:
        try:
            return int(field.type.bit_width)
        except ValueError:
            return 1 << 20

    return min(schema, key=width)


def _tables_below(namespace: Namespace, parent: str) -> Iterator[str]:
    names = identifiers.parse(parent) if parent else []
    for table in namespace.tables(names):
        yield identifiers.show([*names, table])
    for child in namespace.namespaces(names):
        yield from _tables_below(namespace, identifiers.show([*names, child]))
