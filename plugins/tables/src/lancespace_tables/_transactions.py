"""Transactions: jobs of the engine, and the commits that made the versions of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

from lance_namespace import (
    AlterTransactionRequest,
    AlterTransactionResponse,
    DescribeTableVersionRequest,
    DescribeTransactionRequest,
    DescribeTransactionResponse,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    ListTableVersionsRequest,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableVersion,
    TableVersionNotFoundError,
    TransactionNotFoundError,
)
from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction
from lance_namespace_urllib3_client.models.alter_transaction_set_property import AlterTransactionSetProperty
from lance_namespace_urllib3_client.models.alter_transaction_unset_property import AlterTransactionUnsetProperty

from lancespace.authoring import (
    JobState,
    JobStatus,
    choose,
    hookimpl,
    translated,
)
from lancespace_tables._access import OperationGroup, TableAccess

Edit = Callable[[dict[str, str]], None]


SEARCHED = 1000
"""The number of latest versions among which a transaction is found by its uuid."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MISSING = (TableNotFoundError, NamespaceNotFoundError, TableVersionNotFoundError, InvalidTableStateError)
_STATES = tuple(state.value for state in JobState)
_SET_MODES = ("Overwrite", "Fail", "Skip")
_UNSET_MODES = ("Skip", "Fail")


class TransactionOperations(OperationGroup):
    """The transactions by which jobs are followed and cancelled, and those that made the versions of tables."""

    @hookimpl
    def describe_transaction(self, request: DescribeTransactionRequest) -> DescribeTransactionResponse:
        """How a job is doing, or which commit made a version of a table."""
        names = request.id or []
        status: JobStatus | None = self._engine().describe_job(job_id=names[-1])
        if status is None:
            properties = table_transaction(self.backend, names)
            return DescribeTransactionResponse(status=JobState.SUCCEEDED.value, properties=properties)
        return DescribeTransactionResponse(status=status.state.value, properties=_properties(status))

    @hookimpl
    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        """Cancel a job, or change the properties that are kept with it: all of the actions or none."""
        names = request.id or []
        status: JobStatus | None = self._engine().describe_job(job_id=names[-1])
        if status is None:
            table_transaction(self.backend, names)
            raise InvalidInputError(f"alter_transaction: the transaction {'.'.join(names)!r} is committed, and final")
        is_cancel, edits = read_actions(request.actions, reserved=_job_facts(status).keys())
        if edits:
            status = self._engine().edit_job(job_id=status.job_id, edit=partial(_apply, edits))
        if is_cancel:
            status = self._engine().cancel_job(job_id=names[-1])
        if status is None:
            raise no_transaction(names)
        return AlterTransactionResponse(status=status.state.value, properties=_properties(status))

    def _engine(self) -> Any:
        self.backend.connection.use_engine()
        return self.backend.connection.hooks


def _properties(status: JobStatus) -> dict[str, str]:
    facts = _job_facts(status)
    return {**status.properties, **{name: value for name, value in facts.items() if value is not None}}


def _job_facts(status: JobStatus) -> dict[str, str | None]:
    return {
        "kind": status.kind,
        "about": status.about,
        "fraction": f"{status.fraction:.3f}",
        "message": status.message,
        "rows": None if status.rows is None else str(status.rows),
        "rows_per_second": None if status.rate is None else f"{status.rate:.0f}",
        "owner": status.owner,
        "creator": status.creator or None,
        "created_at": _time(status.created_at),
        "started_at": _time(status.started_at),
        "updated_at": _time(status.updated_at),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def table_transaction(backend: TableAccess, names: list[str]) -> dict[str, str]:
    """What is known of the transaction ``[namespace..., table, version or uuid]``.

    Raises:
        TransactionNotFoundError: If there is none.
    """
    *table, wanted = names
    wanted = wanted.lower()
    try:
        if table and wanted.isdecimal():
            return _transaction(backend, table, int(wanted))
        if table and _UUID.fullmatch(wanted):
            return _search(backend, table, wanted)
    except _MISSING as error:
        raise no_transaction(names) from error
    raise no_transaction(names)


def _transaction(backend: TableAccess, table: list[str], version: int) -> dict[str, str]:
    request = ListTableVersionsRequest(id=table)
    with translated(f"read the transaction of version {version}", missing=TableVersionNotFoundError):
        transaction = backend.locate(request).open(version).read_transaction(version)
    if transaction is None:
        raise no_transaction([*table, str(version)])
    made = backend.operation("describe_table_version")(DescribeTableVersionRequest(id=table, version=version)).version
    return {**(transaction.transaction_properties or {}), **_commit_facts(transaction, made)}


def _search(backend: TableAccess, table: list[str], wanted: str) -> dict[str, str]:
    listed = backend.operation("list_table_versions")(
        ListTableVersionsRequest(id=table, descending=True, limit=SEARCHED)
    )
    dataset = backend.locate(ListTableVersionsRequest(id=table)).open()
    for found in listed.versions:
        with translated(f"read the transaction of version {found.version}"):
            transaction = dataset.read_transaction(found.version)
        if transaction is not None and transaction.uuid == wanted:
            return _transaction(backend, table, found.version)
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


def _commit_facts(transaction: Any, made: TableVersion) -> dict[str, str]:
    facts = {
        "operation": type(transaction.operation).__name__,
        "uuid": str(transaction.uuid),
        "read_version": str(transaction.read_version),
        "version": str(made.version),
    }
    committed = _time(None if made.timestamp_millis is None else made.timestamp_millis / 1000)
    return facts if committed is None else {**facts, "committed_at": committed}


def read_actions(actions: Sequence[AlterTransactionAction], reserved: Collection[str]) -> tuple[bool, list[Edit]]:
    """Whether to cancel the job, and the edits of its properties, checked as far as that does not depend on the job.

    ``reserved`` are names that the job itself uses.

    Raises:
        InvalidInputError: Naming what is wrong with one of them.
    """
    is_cancel, edits = False, list[Edit]()
    for action in actions:
        given = [
            one
            for one in (action.set_status_action, action.set_property_action, action.unset_property_action)
            if one is not None
        ]
        if len(given) != 1:
            raise InvalidInputError("alter_transaction: each action sets a status, or sets or unsets one property")
        if action.set_status_action is not None:
            is_cancel = _is_cancel(action.set_status_action.status)
        elif action.set_property_action is not None:
            edits.append(_set(action.set_property_action, reserved))
        elif action.unset_property_action is not None:
            edits.append(_unset(action.unset_property_action, reserved))
    return is_cancel, edits


def _apply(edits: Sequence[Edit], properties: dict[str, str]) -> None:
    for edit in edits:
        edit(properties)


def _is_cancel(status: str | None) -> bool:
    if status is None or choose("status", status, _STATES) != JobState.CANCELED.value:
        raise InvalidInputError("alter_transaction: the only status a job can be given is 'Canceled'")
    return True


def _set(action: AlterTransactionSetProperty, reserved: Collection[str]) -> Edit:
    key = _key(action.key, reserved)
    mode = choose("mode", action.mode, _SET_MODES)
    if action.value is None:
        raise InvalidInputError(f"alter_transaction: the property {key!r} needs a value")
    value = action.value

    def edit(properties: dict[str, str]) -> None:
        if key in properties and mode == "Fail":
            raise InvalidInputError(f"alter_transaction: the property {key!r} is there already")
        if key not in properties or mode == "Overwrite":
            properties[key] = value

    return edit


def _unset(action: AlterTransactionUnsetProperty, reserved: Collection[str]) -> Edit:
    key = _key(action.key, reserved)
    mode = choose("mode", action.mode, _UNSET_MODES)

    def edit(properties: dict[str, str]) -> None:
        if key not in properties and mode == "Fail":
            raise InvalidInputError(f"alter_transaction: there is no property {key!r} to unset")
        properties.pop(key, None)

    return edit


def _key(key: str | None, reserved: Collection[str]) -> str:
    if not key:
        raise InvalidInputError("alter_transaction: a property needs a key")
    if key in reserved:
        raise InvalidInputError(f"alter_transaction: {key!r} is a fact of the job itself: choose another name")
    return key
