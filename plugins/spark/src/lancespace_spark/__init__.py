"""Lance tables of a namespace in Spark, through PySpark alone.

``register(spark)`` makes ``spark.read.format("lancespace")`` known; names below load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lancespace_spark.importing import import_table
    from lancespace_spark.merging import Merged, upsert
    from lancespace_spark.queries import sql
    from lancespace_spark.sessions import session
    from lancespace_spark.source import register
    from lancespace_spark.views import attach

__all__ = ["Merged", "attach", "import_table", "register", "session", "sql", "upsert"]

_HOME = {
    "Merged": "lancespace_spark.merging",
    "attach": "lancespace_spark.views",
    "import_table": "lancespace_spark.importing",
    "register": "lancespace_spark.source",
    "session": "lancespace_spark.sessions",
    "sql": "lancespace_spark.queries",
    "upsert": "lancespace_spark.merging",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
