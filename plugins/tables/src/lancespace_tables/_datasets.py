"""``Table.dataset``: a table of a namespace, opened with the Lance SDK."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import lance
from lance_namespace import DescribeTableRequest, InvalidTableStateError, TableNotFoundError

from lancespace import Namespace
from lancespace.authoring import Connection, hookimpl, identifiers, is_failure, process, translate
from lancespace_tables._access import MAIN_BRANCH, TableAccess


class DatasetExtension:
    """Opens tables for callers of a namespace."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @hookimpl
    def open_dataset(
        self, namespace: Namespace, names: list[str], version: int | str | None, branch: str | None
    ) -> lance.LanceDataset:
        """Open a table, by way of its backend if that opens tables itself, or else by way of pylance."""
        process.use_lance()
        backend = namespace.backend
        if isinstance(backend, TableAccess):
            namespace.table_exists(names)  # Wrappers see, and may refuse, what is opened.
            return backend.locate(DescribeTableRequest(id=names)).open(version, branch)
        with _distinguishing_empty(namespace, names):
            if branch in {None, MAIN_BRANCH}:
                return lance.dataset(namespace_client=namespace, table_id=names, version=version)
            return lance.dataset(namespace_client=namespace, table_id=names).checkout_version((branch, version))


@contextmanager
def _distinguishing_empty(namespace: Namespace, names: list[str]) -> Iterator[None]:
    """Around an open by pylance, which reports a table without data as one that does not exist."""
    name = identifiers.show(names)
    try:
        yield
    except BaseException as error:
        if not is_failure(error):
            raise
        failure = translate(error, about=f"open table {name!r}")
        if isinstance(failure, TableNotFoundError) and failure is not error and namespace.table(names).exists():
            failure = InvalidTableStateError(f"table {name!r} was declared but has no data yet: write some first")
        raise failure from error
