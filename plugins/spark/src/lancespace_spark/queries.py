"""Spark SQL over the tables of a namespace, which reads only the columns and rows that a statement needs.

Spark asks a Python data source for all columns and all rows. So a statement is planned twice: once to see in the
optimized plan what it needs of each table, and then with relations that read just that.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from pyspark.errors import AnalysisException, PySparkException

from lancespace.authoring import identifiers
from lancespace_jobs import TableSpec
from lancespace_spark import aggregates, needs, rewriting, statements
from lancespace_spark.failures import public
from lancespace_spark.relations import Bound
from lancespace_spark.views import tables_below

if TYPE_CHECKING:
    import lance
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


@public
def sql(
    spark: SparkSession,
    namespace: Namespace,
    statement: str,
    args: Mapping[str, object] | Sequence[object] | None = None,
) -> DataFrame:
    """Run a query over tables of a namespace by their names, together with Spark's own tables and views.

    Every table is read at the version that is the latest now, each mention of it alike. ``args`` are the values of
    parameters, as for ``spark.sql``: by name for ``:name``, in order for ``?``.

    Raises:
        InvalidInputError: If the statement is no query, or Spark does not understand it.
        TableNotFoundError: If neither the namespace nor Spark has a table that the statement names.
        TableSchemaValidationError: If it names a column of a type that Spark does not have.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedOperationError(
            "lancespace_spark.sql looks into Spark's plans, which Spark Connect does not show: "
            "use lancespace_spark.attach and spark.sql there"
        )
    run = functools.partial(_run, spark, _arguments(spark, args))
    parsed = statements.parse(spark, statement, lambda text: run(f"SELECT {text}").collect()[0][0])
    bound = list(_bind(spark, namespace, parsed.mentions))
    try:
        return _planned(spark, parsed, bound, run)
    except AnalysisException as error:
        rewriting.tell(error, parsed, bound)
        raise


def _arguments(spark: SparkSession, args: Mapping[str, object] | Sequence[object] | None) -> Any:
    """The values of parameters as ``spark.sql`` prepares them; None for none, as that would take as long as to plan."""
    if not args:
        return None
    from pyspark.sql.classic.column import _to_java_column
    from pyspark.sql.functions import lit

    if isinstance(args, Mapping):
        return {name: _to_java_column(lit(value)) for name, value in args.items()}
    return spark._jvm.PythonUtils.toArray([_to_java_column(lit(value)) for value in args])  # type: ignore[union-attr] # noqa: SLF001


def _run(spark: SparkSession, arguments: Any, text: str) -> DataFrame:
    """What ``spark.sql`` does, with values of parameters that are prepared once."""
    from pyspark.sql import DataFrame

    java = spark._jsparkSession  # noqa: SLF001 - see above
    return DataFrame(java.sql(text) if arguments is None else java.sql(text, arguments), spark)


def _planned(
    spark: SparkSession, parsed: statements.Statement, bound: Sequence[Bound], run: Callable[[str], DataFrame]
) -> DataFrame:
    """Plan a statement to see what it needs, and then with just that."""
    text = rewriting.rewritten(parsed, bound)
    with _views(spark, bound) as show:
        show([one.blank(spark) for one in bound])
        planned = run(text)
        with needs.long_lists(spark) if parsed.has_long_list else nullcontext():
            scans = needs.scans_of(planned)
        answer = _answered(spark, planned, scans, bound)
        if answer is not None:
            return answer
        needed = needs.by_mention(scans)
        show([one.reduced(spark, needed.get(one.number, needs.Need())) for one in bound])
        return run(text)


def _answered(
    spark: SparkSession, planned: DataFrame, scans: list[needs.Scan], bound: Sequence[Bound]
) -> DataFrame | None:
    """The answer to a statement that only aggregates rows of one table, or looks for a few; None for all others.

    Spark does not look at those rows again, so their condition must be whole.
    """
    if len(scans) != 1 or (scans[0].condition and not scans[0].condition.is_whole):
        return None
    (scan,) = scans
    table = next(one for one in bound if one.number == scan.number)
    condition = scan.condition.text if scan.condition else None
    wanted = aggregates.of_statement(planned, scan)
    if wanted is not None:
        return table.aggregated(spark, wanted, condition)
    if condition is None or scan.rest or not scan.is_top or not scan.output:
        return None
    return table.looked_up(spark, condition, scan.output, scan.alias)


def _bind(spark: SparkSession, namespace: Namespace, found: Sequence[statements.Mention]) -> Iterator[Bound]:
    backend, properties = namespace.connection_args()
    prefix = f"lancespace_{uuid.uuid4().hex}"
    opened: dict[tuple[str, ...], lance.LanceDataset] = {}
    for number, mention in enumerate(found):
        if not _is_possible(mention) or (
            not namespace.table(list(mention.names)).exists() and _is_sparks(spark, mention)
        ):
            continue
        handle = TableSpec(backend, properties, mention.names)
        if mention.names not in opened:
            opened[mention.names] = _open(namespace, handle)
        yield Bound(number, mention, handle, opened[mention.names], f"{prefix}_{number}")


def _open(namespace: Namespace, handle: TableSpec) -> lance.LanceDataset:
    try:
        return handle.open()
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        near = get_close_matches(handle.name, list(tables_below(namespace, "")), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise TableNotFoundError(f"Neither the namespace nor Spark has a table {handle.name!r}.{hint}") from error


def _is_possible(mention: statements.Mention) -> bool:
    """Whether a table of a namespace may have that name: Spark also has files, as in parquet.`/folder/file`."""
    try:
        identifiers.parse(list(mention.names))
    except InvalidInputError:
        return False
    return True


def _is_sparks(spark: SparkSession, mention: statements.Mention) -> bool:
    try:
        return spark.catalog.tableExists(".".join(f"`{name}`" for name in mention.names))
    except PySparkException:  # The first of three names must be a catalog of Spark's; it is asked only if so.
        return False


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
