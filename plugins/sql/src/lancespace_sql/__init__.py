"""SQL over the catalog of a namespace, with DataFusion.

:func:`sql` runs one query and streams its result; :func:`session` gives a DataFusion session, for data frames;
:func:`quote` writes an identifier as SQL.
"""

from __future__ import annotations

from lancespace_sql.names import quote
from lancespace_sql.query import SqlExtension, sql
from lancespace_sql.session import session

__all__ = ["SqlExtension", "quote", "session", "sql"]
