"""All tables of a namespace as views of a session, for ``spark.sql`` and tools that only know that."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace import LanceNamespaceError

from lancespace.authoring import identifiers
from lancespace_jobs import TableSpec
from lancespace_spark.failures import public
from lancespace_spark.relations import readable
from lancespace_spark.source import NAME
from lancespace_spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace


@public
def attach(spark: SparkSession, namespace: Namespace, parent: str = "") -> list[str]:
    """Make every table below a namespace a temporary view of the session, under its dotted name: ```sales.orders```.

    A view shows the version that is the latest now; attach again to see later ones. The answer is the names. Tables
    that cannot be read, such as those that are only declared, are left out with a warning, and so are columns of types
    that Spark does not have.
    """
    backend, properties = namespace.connection_args()
    attached = []
    for name in tables_below(namespace, parent):
        try:
            dataset = TableSpec(backend, properties, tuple(identifiers.parse(name))).open()
        except LanceNamespaceError as error:
            warnings.warn(f"the table {name!r} is not attached: {error}", stacklevel=2)
            continue
        schema = readable(dataset.schema)
        missing = [f"{field.name!r} ({field.type})" for field in dataset.schema if field.name not in schema.names]
        if missing:
            told = ", ".join(missing)
            warnings.warn(f"the view {name!r} is without columns that Spark has no type for: {told}", stacklevel=2)
        options = {"namespace": backend, "table": name, "version": str(dataset.version), **properties}
        reader = spark.read.format(NAME).schema(spark_schema(schema)).options(**options)
        reader.load().createOrReplaceTempView(f"`{name}`")
        attached.append(name)
    return attached


def tables_below(namespace: Namespace, parent: str) -> Iterator[str]:
    """The dotted names of all tables below a namespace."""
    names = identifiers.parse(parent) if parent else []
    for table in namespace.tables(names):
        yield identifiers.show([*names, table])
    for child in namespace.namespaces(names):
        yield from tables_below(namespace, identifiers.show([*names, child]))
