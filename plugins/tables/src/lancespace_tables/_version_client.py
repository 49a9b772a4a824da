"""The namespaces through which pylance commits: to a catalog that keeps the versions, or to a batch that waits."""

from __future__ import annotations

from typing import Any

from lance_namespace import (
    ConcurrentModificationError,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    InvalidInputError,
    LanceNamespace,
    TableVersion,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation

from lancespace.authoring import OPERATIONS, call_on_python_thread, identifiers, model


class VersionClient(LanceNamespace):
    """A backend as pylance's commit handler sees it: the few operations with which Lance finds and makes versions.

    pylance asks through it where the latest version is whenever a table is opened, and commits by
    ``create_table_version``, so that whatever the Lance SDK changes on such a table goes through the catalog.

    It is made for one operation. If others were faster, Lance puts the change on top of what they did. It cannot know
    that the table was dropped and created again at the same place, where the files of the change are gone: that shows
    in the version which the operation has seen first.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._seen: TableVersion | None = None
        self._branch: str | None = None
        """Where it was seen."""

    def namespace_id(self) -> str:
        """The identity of the backend's connection."""
        return str(self._backend.namespace_id())

    def describe_table(self, request: Any) -> Any:
        """Asked when the storage options expire."""
        return self._ask("describe_table", request)

    def list_table_versions(self, request: Any) -> Any:
        """Asked for the latest version."""
        asked = _as_model("list_table_versions", request)
        answer = self._ask("list_table_versions", asked)
        if self._seen is None:
            self._seen = max(answer.versions, key=lambda found: found.version, default=None)
            self._branch = asked.branch
        return answer

    def describe_table_version(self, request: Any) -> Any:
        """Asked for one version."""
        return self._ask("describe_table_version", request)

    def create_table_version(self, request: Any) -> Any:
        """Asked to commit.

        Raises:
            ConcurrentModificationError: Another table has taken the place of the one that the operation began with.
        """
        asked = _as_model("create_table_version", request)
        if self._seen is not None and not self._is_there(asked, self._seen):
            raise ConcurrentModificationError(
                f"Table {identifiers.show(asked.id or [])!r} was replaced by another one meanwhile: open it again."
            )
        return self._ask("create_table_version", asked)

    def _is_there(self, request: Any, seen: TableVersion) -> bool:
        """Whether the table still has a version; if it is replaced after that, the staged manifest is gone."""
        wanted = DescribeTableVersionRequest(id=request.id, branch=self._branch, version=seen.version)
        try:
            found = self._ask("describe_table_version", wanted).version
        except TableVersionNotFoundError:
            return False
        return _stamp(found) == _stamp(seen)

    def _ask(self, operation: str, request: Any) -> Any:
        return call_on_python_thread(self._backend.operation(operation), request=_as_model(operation, request))


def _as_model(operation: str, request: Any) -> Any:
    """A request, which pylance gives as a dict or a model."""
    expected = model(OPERATIONS[operation].request)
    return request if isinstance(request, expected) else expected.model_validate(dict(request))


def _stamp(version: TableVersion) -> tuple[int | None, str | int | None]:
    """What tells a version from one of another table; stores tell times more or less exactly."""
    return version.manifest_size, version.e_tag or version.timestamp_millis


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
