"""The transactions of a table: the commits that made its versions."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    DescribeTableVersionRequest,
    InvalidTableStateError,
    LanceNamespaceError,
    ListTableVersionsRequest,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
    TransactionNotFoundError,
)

from lancespace.errors import translated
from lancespace.tables.access import TableAccess

if TYPE_CHECKING:
    from collections.abc import Callable

    from lance_namespace import TableVersion

SEARCHED = 1000
"""So many versions back from the latest, a transaction is found by its uuid."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MISSING = (TableNotFoundError, NamespaceNotFoundError, TableVersionNotFoundError, InvalidTableStateError)


class TableTransactions(TableAccess):
    """Finds the transaction that made a version, by the version's number or by its own uuid."""

    if TYPE_CHECKING:
        describe_table_version: Callable[..., Any]
        list_table_versions: Callable[..., Any]

    def table_transaction(self, names: list[str]) -> dict[str, str]:
        """What is known of the transaction ``[namespace..., table, version or uuid]``.

        Raises:
            TransactionNotFoundError: If there is none.
        """
        *table, wanted = names
        wanted = wanted.lower()
        try:
            if table and wanted.isdecimal():
                return self._transaction(table, int(wanted))
            if table and _UUID.fullmatch(wanted):
                return self._search(table, wanted)
        except _MISSING as error:
            raise no_transaction(names) from error
        raise no_transaction(names)

    def _transaction(self, table: list[str], version: int) -> dict[str, str]:
        request = ListTableVersionsRequest(id=table)
        with translated(f"read the transaction of version {version}", missing=TableVersionNotFoundError):
            transaction = self.locate(request).open(version).read_transaction(version)
        if transaction is None:
            raise no_transaction([*table, str(version)])
        made = self.describe_table_version(DescribeTableVersionRequest(id=table, version=version)).version
        return {**(transaction.transaction_properties or {}), **_facts(transaction, made)}

    def _search(self, table: list[str], wanted: str) -> dict[str, str]:
        listed = self.list_table_versions(ListTableVersionsRequest(id=table, descending=True, limit=SEARCHED))
        dataset = self.locate(ListTableVersionsRequest(id=table)).open()
        for found in listed.versions:
            with translated(f"read the transaction of version {found.version}"):
                transaction = dataset.read_transaction(found.version)
            if transaction is not None and transaction.uuid == wanted:
                return self._transaction(table, found.version)
        raise TransactionNotFoundError(
            f"There is no transaction {wanted!r} among the latest {SEARCHED} versions of table {'.'.join(table)!r}: "
            "ask by version number."
        )


def no_transaction(names: list[str]) -> LanceNamespaceError:
    """The error for an identifier that is neither a job's nor a commit's."""
    return TransactionNotFoundError(
        f"There is no transaction {'.'.join(names)!r}: give the id of a job, or a table and a version number or the "
        "uuid of a commit."
    )


def _facts(transaction: Any, made: TableVersion) -> dict[str, str]:
    facts = {
        "operation": type(transaction.operation).__name__,
        "uuid": str(transaction.uuid),
        "read_version": str(transaction.read_version),
        "version": str(made.version),
    }
    if made.timestamp_millis is not None:
        committed = datetime.fromtimestamp(made.timestamp_millis / 1000, timezone.utc)
        facts["committed_at"] = committed.isoformat(timespec="milliseconds")
    return facts
