"""Changes of several tables that happen together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    InvalidInputError,
    UnsupportedOperationError,
)
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult

from lancespace.hookspecs import hookimpl

if TYPE_CHECKING:
    from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation

DECLARE, CREATE_VERSION = "declare_table", "create_table_version"
DELETE_VERSIONS, DEREGISTER = "delete_table_versions", "deregister_table"
KINDS = {
    DECLARE: "declare_table",
    CREATE_VERSION: "create_table_version",
    DELETE_VERSIONS: "batch_delete_table_versions",
    DEREGISTER: "deregister_table",
}
"""The kinds of operations in a batch, as its fields are called, and the operation that does each of them alone."""


class BatchOperations:
    """Batches of one; several operations happen together only in a catalog that keeps the versions itself."""

    @hookimpl
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        """Do the one operation of the batch."""
        if len(request.operations) != 1:
            raise (UnsupportedOperationError if request.operations else InvalidInputError)(
                f"batch_commit_tables got {len(request.operations)} operations: this catalog changes one table at a "
                "time, so all or none cannot be promised; send one operation, or use a catalog that manages versions"
            )
        kind, part = part_of(request.operations[0], 0)
        done = getattr(self, KINDS[kind])(request=part)
        return BatchCommitTablesResponse(results=[CommitTableResult(**{kind: done})])


def part_of(operation: CommitTableOperation, position: int) -> tuple[str, Any]:
    """The kind of an operation of a batch, and the request for it.

    Raises:
        InvalidInputError: It is none, or several at once.
    """
    given = [(kind, getattr(operation, kind)) for kind in KINDS if getattr(operation, kind) is not None]
    if len(given) != 1:
        raise InvalidInputError(f"operations[{position}] must be exactly one of {', '.join(KINDS)}")
    return given[0]
