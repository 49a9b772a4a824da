"""DataFusion sessions over a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from datafusion import SessionConfig, SessionContext

from lancespace.forks import process
from lancespace_sql.catalog import NamespaceCatalogs
from lancespace_sql.functions import register_functions

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_sql.notes import Notes


def session(namespace: Namespace) -> SessionContext:
    """A DataFusion session whose tables are those of the namespace, for data frames and several statements.

    Every statement looks its tables up anew, so it sees what was committed before. What the session registers or
    creates stays in the session: it cannot change the catalog. Its errors are DataFusion's.
    """
    return noting_session(namespace, None)


def noting_session(namespace: Namespace, notes: Notes | None) -> SessionContext:
    """A session that notes what went wrong; for one statement, since the notes are never emptied."""
    process.use_lance()  # DataFusion has threads as Lance does.
    config = SessionConfig().with_create_default_catalog_and_schema(False).with_default_catalog_and_schema("", "")
    context = SessionContext(config)
    context.register_catalog_provider_list(NamespaceCatalogs(namespace, notes))
    register_functions(context, namespace, notes)
    return context
