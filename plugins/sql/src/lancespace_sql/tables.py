"""From a table of the catalog to what DataFusion scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
from datafusion.catalog import Table
from lance_namespace import DescribeTableRequest

from lancespace import TableBackend, identifiers
from lancespace.errors import translated
from lancespace.forks import process

if TYPE_CHECKING:
    from lancespace import Namespace


def scannable(namespace: Namespace, names: list[str], **at: Any) -> Table:
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
