"""The backend template: a catalog that has only its root namespace, and nothing in it."""

from __future__ import annotations

import lance_namespace as spec

from lancespace.authoring import Backend, Property, hookimpl, paginate
from lancespace.identifiers import show


class TemplateBackend(Backend):
    """What it lacks is left out of ``capabilities()``, and raises ``UnsupportedOperationError``.

    Once it has the four operations on namespaces and ``declare_table``, ``list_tables``, ``describe_table`` and
    ``deregister_table``, derive it from ``lancespace_tables.TableBackend`` instead: the Lance SDK then does all others.

    lancedb knows errors by their words: "Table not found", "was not found", "Namespace not empty", "already exists".
    """

    properties = (Property("root", "Directory of the catalog", required=True, identifies=True),)

    @hookimpl
    def describe_namespace(self, request: spec.DescribeNamespaceRequest) -> spec.DescribeNamespaceResponse:
        """The properties of a namespace."""
        self._check_namespace(request.id or [])
        return spec.DescribeNamespaceResponse(properties={})

    @hookimpl
    def list_namespaces(self, request: spec.ListNamespacesRequest) -> spec.ListNamespacesResponse:
        """The names of the child namespaces, sorted."""
        self._check_namespace(request.id or [])
        names, token = paginate([], request.page_token, request.limit)
        return spec.ListNamespacesResponse(namespaces=names, page_token=token)

    @hookimpl
    def list_tables(self, request: spec.ListTablesRequest) -> spec.ListTablesResponse:
        """The names of the tables of a namespace, sorted."""
        self._check_namespace(request.id or [])
        names, token = paginate([], request.page_token, request.limit)
        return spec.ListTablesResponse(tables=names, page_token=token)

    def _check_namespace(self, names: list[str]) -> None:
        if names:
            raise spec.NamespaceNotFoundError(f"Namespace not found: {show(names)!r}.")
