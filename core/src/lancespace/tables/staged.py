"""Commits that wait: how a client prepares a batch."""

from __future__ import annotations

from typing import Any

from lance_namespace import (
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    InvalidInputError,
    LanceNamespace,
    TableVersion,
    UnsupportedOperationError,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation


class StagedCommits(LanceNamespace):
    """A namespace through which pylance prepares commits that nobody sees yet.

    ::

        staged = StagedCommits(ns)
        lance.write_dataset(rows, mode="append", namespace_client=staged, table_id=["orders"])
        lance.dataset(namespace_client=staged, table_id=["stock"]).delete("amount = 0")
        ns.batch_commit_tables(operations=staged.operations)

    If another writer was faster on any of the tables, the batch is refused as a whole: begin again with new commits on
    what is there now.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        self._namespace = namespace
        self.operations: list[CommitTableOperation] = []
        """The commits so far, as ``batch_commit_tables`` takes them."""

    def namespace_id(self) -> str:
        """The identity of the namespace that the commits are for."""
        return f"staged({self._namespace.namespace_id()})"

    def declare_table(self, request: Any) -> Any:
        """Declare the table at once; its first version waits."""
        return _managed(self._namespace.declare_table(request), request)

    def describe_table(self, request: Any) -> Any:
        """The table as it is.

        Raises:
            InvalidInputError: There are commits for it that wait: what is opened now would know nothing of them.
        """
        names = list(request.id or [])
        if any(each.create_table_version and each.create_table_version.id == names for each in self.operations):
            raise InvalidInputError(
                f"a commit to table {_name(request)!r} is staged already: go on with the dataset that it returned, "
                "or commit the batch first"
            )
        return _managed(self._namespace.describe_table(request), request)

    def list_table_versions(self, request: Any) -> Any:
        """The versions as they are."""
        return self._namespace.list_table_versions(request)

    def describe_table_version(self, request: Any) -> Any:
        """The version as it is."""
        return self._namespace.describe_table_version(request)

    def create_table_version(self, request: Any) -> CreateTableVersionResponse:
        """Keep the commit for the batch, and answer as if it had been made."""
        commit = CreateTableVersionRequest.model_validate(dict(request))
        self.operations.append(CommitTableOperation(create_table_version=commit))
        path, size = commit.manifest_path, commit.manifest_size
        return CreateTableVersionResponse(
            version=TableVersion(version=commit.version, manifest_path=path, manifest_size=size)
        )


def _managed(response: Any, request: Any) -> Any:
    """The answer, if pylance will commit through the namespace: otherwise nothing would wait."""
    if not response.managed_versioning:
        raise UnsupportedOperationError(
            f"table {_name(request)!r} keeps its versions in storage, where a commit cannot wait: "
            "connect with table_version_management=true before it is created"
        )
    return response


def _name(request: Any) -> str:
    return ".".join(request.id or [])
