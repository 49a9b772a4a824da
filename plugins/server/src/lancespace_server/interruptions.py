"""What became of a write with an Idempotency-Key whose process died: it is found out from the catalog.

Rows that are appended, and tables that are created or overwritten, have the key's mark in their commit. Of all other
writes, what they change is read before they begin, and compared when they are repeated. This holds where the writes
end with the process, so not for a server in front of another server, and not for jobs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from lance_namespace import ErrorCode, LanceNamespaceError

from lancespace.authoring import OPERATIONS, Kind, Operation, Subject, acting, marked, model
from lancespace_server import answers
from lancespace_server.failures import Failure
from lancespace_server.principals import SYSTEM

if TYPE_CHECKING:
    from lance_namespace import TableVersion
    from pydantic import BaseModel

    from lancespace import Namespace

_MARKED = frozenset({"insert_into_table", "create_table"})
_REPEATABLE = frozenset({"create_table_version"})
"""A manifest that was staged becomes a version once; a repeat has the same answer."""
_REMOVING = frozenset({"drop", "deregister", "delete"})
_JOBS = frozenset({"alter_table_backfill_columns", "refresh_materialized_view"})

_SEARCHED = 1000
"""How many versions are searched for a mark."""
_SKEW_MILLIS = 3_600_000
"""How far the clock of the store may be behind."""

_ABSENT = frozenset(
    {ErrorCode.NAMESPACE_NOT_FOUND, ErrorCode.TABLE_NOT_FOUND, ErrorCode.TABLE_TAG_NOT_FOUND}
    | {ErrorCode.TABLE_BRANCH_NOT_FOUND, ErrorCode.TABLE_INDEX_NOT_FOUND, ErrorCode.TRANSACTION_NOT_FOUND}
)
_MAIN = (None, "main")


class Outcome(NamedTuple):
    """The answer to a write that was carried out."""

    status: int
    body: bytes


class Unknown(Exception):  # noqa: N818 - an outcome
    """It cannot be known whether the write was carried out; the text says why."""


class Recovery:
    """One write of a request, and how to find out whether it was carried out."""

    def __init__(self, namespace: Namespace, operation: Operation, request: BaseModel, target: str) -> None:
        self._namespace = namespace
        self._operation = operation
        self._request: Any = request
        self._target = target
        self._is_on_main = getattr(request, "branch", None) in _MAIN

    def before(self) -> str:
        """What to keep before the write begins.

        Raises:
            LanceNamespaceError: If the caller may not do this, or the catalog cannot be read; then nothing was changed.
        """
        self._check_access()
        is_compared = self._ends_with_process and not self._is_marked
        return json.dumps([self._target, self._seen() if is_compared else []])

    def after(self, mark: str, began: float, before: str | None) -> Outcome | None:
        """The answer if the write was carried out; None if it was not, and can be carried out now.

        Raises:
            Failure: 422 if the key belongs to another request.
            Unknown: If neither is certain.
        """
        if before is None:  # It died before the write began.
            return None
        target, seen = json.loads(before)
        if target != self._target:
            raise other_request()
        self._check_access()
        if not self._ends_with_process:
            raise Unknown("It may still be carried out by the server behind this one.")
        if self._operation.name in _JOBS:
            raise Unknown("It may have started a job.")
        with acting(SYSTEM):
            return self._committed(mark, began) if self._is_marked else self._compared(seen)

    def _check_access(self) -> None:
        self._namespace.backend.connection.hooks.check_access(operation=self._operation, request=self._request)

    @property
    def _ends_with_process(self) -> bool:
        backend = self._namespace.backend
        if not backend.uses_lance:
            return False
        from lancespace_tables import TableBackend  # It imports pylance, which a server of servers may lack.

        return isinstance(backend, TableBackend)

    @property
    def _is_marked(self) -> bool:
        return self._operation.name in _MARKED and self._is_on_main

    def _ask(self, operation: str, **fields: Any) -> Any:
        return self._namespace.call(OPERATIONS[operation], None, **fields)

    # --- writes whose commits have a mark ---------------------------------------------------------------------------

    def _committed(self, mark: str, began: float) -> Outcome | None:
        names, expected = list(self._request.id), None
        for version in self._versions(names):
            if version.timestamp_millis is not None and version.timestamp_millis < began * 1000 - _SKEW_MILLIS:
                return None
            if expected not in {None, version.version}:
                break
            answer = marked(mark, self._properties(names, version.version))
            if answer is not None:
                return self._answer(names, version.version, answer)
            if version.version == 1 and not self._is_replaced(version, began):
                return None
            expected = version.version - 1
        else:
            if expected is None:  # No data.
                return None
        raise Unknown("Versions of the table that were made since are gone, or too many to search.")

    def _versions(self, names: list[str]) -> list[TableVersion]:
        try:
            found = self._ask("list_table_versions", id=names, descending=True, limit=_SEARCHED)
        except LanceNamespaceError as error:
            if error.code in _ABSENT or error.code is ErrorCode.INVALID_TABLE_STATE:
                return []
            raise
        versions: list[TableVersion] = found.versions
        return versions

    def _properties(self, names: list[str], version: int) -> dict[str, str]:
        try:
            described = self._ask("describe_transaction", id=[*names, str(version)])
        except LanceNamespaceError as error:
            raise Unknown(f"The transaction of version {version} cannot be read ({error}).") from error
        return described.properties or {}

    def _is_replaced(self, first: TableVersion, began: float) -> bool:
        """Whether the table may be another one of the same name than the rows were for."""
        creates = self._operation.name == "create_table" and (self._request.mode or "create").lower() != "overwrite"
        return not creates and (first.timestamp_millis or 0) >= began * 1000

    def _answer(self, names: list[str], version: int, known: dict[str, int]) -> Outcome:
        response = model(self._operation.response)
        fields = {**known, "version": version}
        if self._operation.name == "create_table":
            described = self._ask("describe_table", id=names, vend_credentials=False)
            fields |= {"location": described.location, "properties": described.properties}
            self._check_properties(described.properties or {})
        fields = {name: value for name, value in fields.items() if name in response.model_fields}
        return Outcome(self._operation.status, answers.encode(self._operation, response(**fields), b"")[0])

    def _check_properties(self, found: dict[str, str]) -> None:
        """See that the table has its properties, which follow in a second commit if its name was there before."""
        given = self._request.properties or {}
        if not given.items() <= found.items():
            raise Unknown("The table has its rows; whether its properties were set, and changed since, is not known.")

    # --- writes whose subject is compared ---------------------------------------------------------------------------

    def _compared(self, before: list[str | None]) -> Outcome | None:
        now = self._seen()
        if now == before or self._operation.name in _REPEATABLE:
            return None
        if self._operation.name.partition("_")[0] in _REMOVING and before != [None] and now == [None]:
            return Outcome(self._operation.status, b"{}")  # Removed by this write or by another: it is gone.
        asked = ", ".join(sorted({name for name, _ in _reads(self._operation, self._request)}))
        raise Unknown(f"What it was to change has changed since it began, by it or by another write: see {asked}.")

    def _seen(self) -> list[str | None]:
        """What there is of everything the write may change: a digest of each, None for what is absent."""
        with acting(SYSTEM):
            return [self._digest(name, fields) for name, fields in _reads(self._operation, self._request)]

    def _digest(self, name: str, fields: dict[str, Any]) -> str | None:
        try:
            answer = self._ask(name, **fields)
        except LanceNamespaceError as error:
            if error.code in _ABSENT:
                return None
            if error.code is ErrorCode.INVALID_TABLE_STATE:  # A table without data.
                return error.code.name
            raise
        text = answer.model_dump_json(exclude={"storage_options", "context"})
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def other_request() -> Failure:
    """The answer to a key that was used before, for something else."""
    message = "This Idempotency-Key was used for another request: send a new key with each request."
    return Failure(422, ErrorCode.INVALID_INPUT, message)


def _reads(operation: Operation, request: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The reads that show whether a write has changed anything."""
    if operation.subject is Subject.CATALOG:
        yield from _reads_of_batch(request)
    elif operation.name not in _JOBS:
        yield _read(operation, request)


def _reads_of_batch(request: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in getattr(request, "entries", ()):
        yield _latest(entry)
    for change in getattr(request, "operations", ()):
        for part in (part for _, part in change if part is not None):
            yield _latest(part) if hasattr(part, "branch") else _entry(part)


def _read(operation: Operation, request: Any) -> tuple[str, dict[str, Any]]:
    if operation.subject is Subject.NAMESPACE:
        return "describe_namespace", {"id": request.id}
    if operation.subject is Subject.TRANSACTION:
        return "describe_transaction", {"id": request.id}
    if operation.kind is Kind.TAG:
        return "get_table_tag_version", {"id": request.id, "tag": request.tag}
    if operation.kind is Kind.BRANCH:
        return "list_table_versions", {"id": request.id, "branch": request.name, "descending": True, "limit": 1}
    if operation.name == "drop_table_index":
        fields = {"id": request.id, "index_name": request.index_name, "branch": request.branch}
        return "describe_table_index_stats", fields
    is_entry = operation.kind is Kind.METADATA and operation.name.endswith("_table")
    return _entry(request) if is_entry or operation.subject is Subject.VIEW else _latest(request)


def _entry(request: Any) -> tuple[str, dict[str, Any]]:
    return "describe_table", {"id": request.id, "vend_credentials": False}


def _latest(request: Any) -> tuple[str, dict[str, Any]]:
    branch = getattr(request, "branch", None)
    return "list_table_versions", {"id": request.id, "branch": branch, "descending": True, "limit": 1}
