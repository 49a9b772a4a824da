"""DataFusion sessions over a namespace: its tables as they are, and as they were at a version, a tag or a branch."""

from __future__ import annotations

import functools
from typing import Any

import lance
from datafusion import Expr, SessionContext, udtf
from datafusion.catalog import Table
from lance_namespace import DescribeTableRequest, InvalidInputError

from lancespace import Namespace
from lancespace.authoring import identifiers, process, translate, translated
from lancespace_sql.catalog import Notes, context_over
from lancespace_tables import TableBackend

_EXAMPLES = {
    "version": "at_version('sales.orders', 3)",
    "tag": "at_tag('sales.orders', 'release')",
    "branch": "at_branch('sales.orders', 'experiment')",
}


def session(namespace: Namespace) -> SessionContext:
    """A DataFusion session whose tables are those of the namespace, for data frames and several statements.

    Every statement looks its tables up anew, so it sees what was committed before. What the session registers or
    creates stays in the session: it cannot change the catalog. Its errors are DataFusion's.
    """
    return noting_session(namespace, None)


def noting_session(namespace: Namespace, notes: Notes | None) -> SessionContext:
    """A session that notes what went wrong; for one statement, since the notes are never emptied."""
    process.use_lance()  # DataFusion has threads as Lance does.
    context = context_over(functools.partial(_scannable, namespace), notes, namespace)
    for field in _EXAMPLES:
        context.register_udtf(udtf(functools.partial(_at, namespace, notes, field), f"at_{field}"))
    return context


def _at(namespace: Namespace, notes: Notes | None, field: str, *arguments: Expr) -> Table:
    try:
        identifier, value = _literals(field, arguments)
        return _scannable(namespace, identifiers.parse(identifier), **{field: value})
    except Exception as error:
        if notes is not None:
            notes.raised.append(translate(error, about="SQL"))
        raise


def _literals(field: str, arguments: tuple[Expr, ...]) -> tuple[str, Any]:
    kinds = (str, int if field == "version" else str)
    try:
        values = [argument.python_value().as_py() for argument in arguments]
    except TypeError:
        values = []  # A column, or an expression of some.
    if len(values) != len(kinds) or not all(map(isinstance, values, kinds)):
        raise InvalidInputError(f"at_{field} takes a table's identifier and a {field} as literals: {_EXAMPLES[field]}.")
    return values[0], values[1]


def _scannable(namespace: Namespace, names: list[str], **at: Any) -> Table:
    """The table at a ``version``, ``tag`` or ``branch``, otherwise as it is now; filters and projections go to Lance.

    Raises:
        LanceNamespaceError: As ``describe_table`` does, and if the table has no data or cannot be read.
    """
    process.use_lance()
    with translated(f"open table {identifiers.show(names)!r}"):
        return Table(lance.FFILanceTableProvider(_open(namespace, names, at)))


def _open(namespace: Namespace, names: list[str], at: dict[str, Any]) -> lance.LanceDataset:
    request = DescribeTableRequest(id=names, **at)
    if isinstance(namespace.backend, TableBackend):
        namespace.describe_table(names)  # For wrappers (audit, authorization): the backend's own way passes them by.
        return namespace.backend.open(request)
    version = request.version if request.tag is None else request.tag
    dataset = lance.dataset(namespace_client=namespace, table_id=names, version=version)
    return dataset if request.branch is None else dataset.checkout_version((request.branch, None))
