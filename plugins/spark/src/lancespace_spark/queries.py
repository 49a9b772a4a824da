"""Spark SQL over the tables of a namespace, which reads only the columns and rows that a statement needs.

Spark asks a Python data source for all columns and all rows. So a statement is planned twice: once to see in the
optimized plan what it needs of each table, and then with relations that have just that.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lance_namespace import NamespaceNotFoundError, TableNotFoundError, UnsupportedOperationError
from pyspark.errors import AnalysisException, PySparkException

from lancespace import identifiers
from lancespace.handles import TableHandle
from lancespace_spark import aggregates, needs, statements
from lancespace_spark.relations import Bound
from lancespace_spark.source import NAME

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


def sql(spark: SparkSession, namespace: Namespace, statement: str) -> DataFrame:
    """Run a query over tables of a namespace by their names, together with Spark's own tables and views.

    Every table is read at the version that is the latest now, each mention of it alike.

    Raises:
        InvalidInputError: If the statement is no query.
        TableNotFoundError: If neither the namespace nor Spark has a table that the statement names.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedOperationError(
            "lancespace_spark.sql looks into Spark's plans, which Spark Connect does not show: "
            "use lancespace_spark.attach and spark.sql there"
        )
    parsed = statements.parse(spark, statement)
    bound = list(_bind(spark, namespace, parsed.mentions))
    text = _rewritten(statement, bound)
    with _views(spark, bound) as show:
        show([one.blank(spark) for one in bound])
        planned = _run(spark, text)
        scans = needs.scans_of(planned)
        answer = _aggregated(spark, planned, scans, bound)
        if answer is None:
            answer = _looked_up(spark, scans, bound)
        if answer is not None:
            return answer
        needed, names = needs.by_mention(scans), {word.lower() for word in parsed.words}
        show([one.reduced(spark, needed.get(one.number, needs.Need()), names) for one in bound])
        try:
            return _run(spark, text)
        except AnalysisException:  # A name that only the whole table has, in a place where no column is expected.
            show([one.whole(spark) for one in bound])
            return _run(spark, text)


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


def _run(spark: SparkSession, text: str) -> DataFrame:
    """What ``spark.sql`` does, without the arguments that it would prepare, which takes as long."""
    from pyspark.sql import DataFrame

    return DataFrame(spark._jsparkSession.sql(text), spark)  # noqa: SLF001 - see above


def _aggregated(
    spark: SparkSession, planned: DataFrame, scans: list[needs.Scan], bound: Sequence[Bound]
) -> DataFrame | None:
    """The answer to a statement that only counts, sums and compares; None for all others."""
    wanted = aggregates.of_statement(planned, scans)
    if wanted is None:
        return None
    (scan,) = scans
    return _of(scan, bound).aggregated(spark, wanted, scan.condition.text if scan.condition else None)


def _looked_up(spark: SparkSession, scans: list[needs.Scan], bound: Sequence[Bound]) -> DataFrame | None:
    """The answer to a statement that only looks for a few rows of one table; None for all others."""
    if len(scans) != 1 or scans[0].rest or not scans[0].is_top or not scans[0].output:
        return None
    (scan,) = scans
    if scan.condition is None or scan.condition.text is None or not scan.condition.is_whole:
        return None
    return _of(scan, bound).looked_up(spark, scan.condition.text, scan.output)


def _of(scan: needs.Scan, bound: Sequence[Bound]) -> Bound:
    return next(one for one in bound if one.number == scan.number)


def _bind(spark: SparkSession, namespace: Namespace, found: Sequence[statements.Mention]) -> Iterator[Bound]:
    backend, properties = namespace.recipe()
    prefix = f"lancespace_{uuid.uuid4().hex}"
    opened: dict[tuple[str, ...], lance.LanceDataset] = {}
    for number, mention in enumerate(found):
        if not namespace.table(list(mention.names)).exists() and _is_sparks(spark, mention):
            continue
        handle = TableHandle(backend, properties, mention.names)
        if mention.names not in opened:
            opened[mention.names] = _open(namespace, handle)
        yield Bound(number, mention, handle, opened[mention.names], f"{prefix}_{number}")


def _open(namespace: Namespace, handle: TableHandle) -> lance.LanceDataset:
    try:
        return handle.open()
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        near = get_close_matches(handle.name, list(_tables_below(namespace, "")), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise TableNotFoundError(f"Neither the namespace nor Spark has a table {handle.name!r}.{hint}") from error


def _is_sparks(spark: SparkSession, mention: statements.Mention) -> bool:
    try:
        return spark.catalog.tableExists(".".join(f"`{name}`" for name in mention.names))
    except PySparkException:  # The first of three names must be a catalog of Spark's; it is asked only if so.
        return False


def _rewritten(statement: str, bound: Sequence[Bound]) -> str:
    """The statement with the names of views in place of those of tables; a column may still be qualified by a name."""
    text = statement
    for one in reversed(bound):
        rest = text[one.mention.stop + 1 :]
        alias = f" AS `{one.mention.names[-1]}`" if one.mention.takes_alias else ""
        text = f"{text[: one.mention.start]}{one.view}{alias}{rest}"
    return text


@contextmanager
def _views(spark: SparkSession, bound: Sequence[Bound]) -> Iterator[Callable[[Sequence[DataFrame]], None]]:
    """The views that a statement is analysed with, to be set as often as needed; its plan does not need them later."""

    def show(frames: Sequence[DataFrame]) -> None:
        for frame, one in zip(frames, bound, strict=True):
            frame.createOrReplaceTempView(one.view)

    try:
        yield show
    finally:
        catalog = spark._jsparkSession.sessionState().catalog()  # noqa: SLF001 - spark.catalog looks for cached data, too
        for one in bound:
            catalog.dropTempView(one.view)


def _tables_below(namespace: Namespace, parent: str) -> Iterator[str]:
    names = identifiers.parse(parent) if parent else []
    for table in namespace.tables(names):
        yield identifiers.show([*names, table])
    for child in namespace.namespaces(names):
        yield from _tables_below(namespace, identifiers.show([*names, child]))
