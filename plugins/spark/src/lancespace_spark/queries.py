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

from lance_namespace import TableNotFoundError, UnsupportedOperationError
from pyspark.errors import AnalysisException

from lancespace import identifiers
from lancespace.handles import TableHandle
from lancespace_spark import plans
from lancespace_spark.source import NAME

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

MARKER = "occurrence"
"""The option by which a mention is known again in a plan."""


@dataclass(frozen=True)
class _Bound:
    """A mention of a table of the namespace, at the version that the statement reads."""

    number: int
    mention: plans.Mention
    handle: TableHandle
    version: int
    columns: frozenset[str]
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
    with _views(spark, bound, {}):
        whole = spark.sql(text)
        needed = plans.needs(whole, MARKER)
    for one in bound:
        needed.setdefault(one.number, plans.Need()).columns |= parsed.words & one.columns
    try:
        with _views(spark, bound, needed):
            return spark.sql(text)
    except AnalysisException:  # A name that only the whole table has, in a place where no column is expected.
        return whole


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
        if _is_sparks(spark, mention) and not namespace.table(list(mention.names)).exists():
            continue
        handle = TableHandle(backend, properties, mention.names)
        if mention.names not in opened:
            opened[mention.names] = _open(namespace, handle)
        dataset = opened[mention.names]
        columns = frozenset(dataset.schema.names)
        yield _Bound(number, mention, handle, dataset.version, columns, f"{prefix}_{number}")


def _open(namespace: Namespace, handle: TableHandle) -> lance.LanceDataset:
    try:
        return handle.open()
    except TableNotFoundError as error:
        near = get_close_matches(handle.name, list(_tables_below(namespace, "")), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise TableNotFoundError(f"Neither the namespace nor Spark has a table {handle.name!r}.{hint}") from error


def _is_sparks(spark: SparkSession, mention: plans.Mention) -> bool:
    return spark.catalog.tableExists(".".join(f"`{name}`" for name in mention.names))


def _rewritten(statement: str, bound: Sequence[_Bound]) -> str:
    """The statement with the names of views in place of those of tables; a column may still be qualified by a name."""
    text = statement
    for one in reversed(bound):
        rest = text[one.mention.stop + 1 :]
        alias = "" if _has_alias(rest) else f" AS `{one.mention.names[-1]}`"
        text = f"{text[: one.mention.start]}{one.view}{alias}{rest}"
    return text


def _has_alias(rest: str) -> bool:
    """Whether what follows a table's name begins with an alias for it."""
    first, _, _ = rest.lstrip().partition(" ")
    word = first.strip().rstrip(",);").upper()
    return bool(word) and rest[:1].isspace() and (word[0] in "`_" or word.isidentifier()) and word not in _NOT_ALIASES


_NOT_ALIASES = frozenset(
    {"ANTI", "CLUSTER", "CROSS", "DISTRIBUTE", "EXCEPT", "FULL", "GROUP", "HAVING", "INNER", "INTERSECT", "JOIN"}
    | {"LATERAL", "LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "ORDER", "PIVOT", "QUALIFY", "RIGHT", "SEMI"}
    | {"SORT", "TABLESAMPLE", "UNION", "UNPIVOT", "USING", "WHERE", "WINDOW"}
)
"""Words that may follow a table's name and are no alias of it."""


@contextmanager
def _views(spark: SparkSession, bound: Sequence[_Bound], needed: dict[int, plans.Need]) -> Iterator[None]:
    """The views that a statement is analysed with; its plan does not need them any more."""
    try:
        for one in bound:
            _scan(spark, one, needed.get(one.number)).createOrReplaceTempView(one.view)
        yield
    finally:
        for one in bound:
            spark.catalog.dropTempView(one.view)


def _scan(spark: SparkSession, one: _Bound, need: plans.Need | None) -> DataFrame:
    options = {"namespace": one.handle.backend, "table": one.handle.name, MARKER: str(one.number)}
    reader = spark.read.format(NAME).options(version=str(one.version), **options, **one.handle.properties)
    if need is not None:
        reader = reader.option("columns", ",".join(sorted(need.columns) or [_narrowest(one)]))
        if need.filter:
            reader = reader.option("filter", need.filter)
    return reader.load()


def _narrowest(one: _Bound) -> str:
    """A column to count rows by: the one with the shortest values."""

    def width(field: object) -> int:
        try:
            return int(field.type.bit_width)  # type: ignore[attr-defined]
        except ValueError:
            return 1 << 20

    schema = one.handle.open(one.version).schema
    return str(min(schema, key=width).name)


def _tables_below(namespace: Namespace, parent: str) -> Iterator[str]:
    names = identifiers.parse(parent) if parent else []
    for table in namespace.tables(names):
        yield identifiers.show([*names, table])
    for child in namespace.namespaces(names):
        yield from _tables_below(namespace, identifiers.show([*names, child]))
