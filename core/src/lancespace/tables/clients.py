"""The client through which pylance commits to tables whose versions the catalog keeps."""

from __future__ import annotations

from typing import Any

from lance_namespace import LanceNamespace

from lancespace import foreign
from lancespace.models import model
from lancespace.operations import OPERATIONS


class VersionClient(LanceNamespace):
    """A backend as pylance's commit handler sees it: the few operations with which Lance finds and makes versions.

    pylance asks through it where the latest version is whenever a table is opened, and commits by
    ``create_table_version``, so that whatever the Lance SDK changes on such a table goes through the catalog.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def namespace_id(self) -> str:
        """The identity of the backend's connection."""
        return str(self._backend.namespace_id())

    def describe_table(self, request: Any) -> Any:
        """Asked when the storage options expire."""
        return self._ask("describe_table", request)

    def list_table_versions(self, request: Any) -> Any:
        """Asked for the latest version."""
        return self._ask("list_table_versions", request)

    def describe_table_version(self, request: Any) -> Any:
        """Asked for one version."""
        return self._ask("describe_table_version", request)

    def create_table_version(self, request: Any) -> Any:
        """Asked to commit."""
        return self._ask("create_table_version", request)

    def _ask(self, operation: str, request: Any) -> Any:
        """Ask the backend; the request is a dict or a model."""
        expected = model(OPERATIONS[operation].request)
        given = request if isinstance(request, expected) else expected.model_validate(dict(request))
        return foreign.call(getattr(self._backend, operation), request=given)
