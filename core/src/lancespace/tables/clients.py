"""The client through which pylance commits to tables whose versions the catalog keeps."""

from __future__ import annotations

from typing import Any

from lance_namespace import (
    ConcurrentModificationError,
    DescribeTableVersionRequest,
    LanceNamespace,
    TableVersion,
    TableVersionNotFoundError,
)

from lancespace import foreign
from lancespace.identifiers import show
from lancespace.models import model
from lancespace.operations import OPERATIONS


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
                f"Table {show(asked.id or [])!r} was replaced by another one at the same time: open it again."
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
        return foreign.call(getattr(self._backend, operation), request=_as_model(operation, request))


def _as_model(operation: str, request: Any) -> Any:
    """A request, which pylance gives as a dict or a model."""
    expected = model(OPERATIONS[operation].request)
    return request if isinstance(request, expected) else expected.model_validate(dict(request))


def _stamp(version: TableVersion) -> tuple[int | None, str | int | None]:
    """What tells a version from one of another table; stores tell times more or less exactly."""
    return version.manifest_size, version.e_tag or version.timestamp_millis
