"""No side effects where none are expected, and no secrets where others read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace, LanceNamespaceError

from lancespace.operations import OPERATIONS
from lancespace.testing import examples
from lancespace.testing.client import Client
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import for_each, needs

_READS = {
    row.name: examples.prerequisites(row.name)
    for row in OPERATIONS.values()
    if not row.writes and row.name != "describe_transaction"
}
_SECRET = "s3cr3t-5ha11-n0t-b3-5h0wn"  # noqa: S105 - it must not be shown, which is the test


class SafetyTests(BackendFixtures):
    """Construction and reads write nothing, so that read-only credentials are enough for them."""

    @needs()
    def test_connecting_writes_nothing(self, client: Client, workdir: Path) -> None:
        """Objects & Relationships: the root namespace is assumed to exist; connecting to it does not make it."""
        assert client.namespace is not None
        assert self._seen(workdir) == {}

    @needs("create_namespace", "create_table", "list_tables")
    def test_reconnecting_writes_nothing(self, client: Client, workdir: Path) -> None:
        """Objects & Relationships: nor does connecting to a catalog that has something in it change that."""
        client.example("create_namespace")
        client.example("create_table", [*examples.NAMESPACE, "t"])
        before = self._seen(workdir)
        assert before
        again = self.reconnect(client.namespace, workdir)
        if again is None:
            pytest.skip("the backend cannot have a second client on one catalog")
        assert self._seen(workdir) == before

    @for_each(list(_READS), None)
    @needs()
    def test_reading_an_empty_catalog_writes_nothing(self, client: Client, workdir: Path, operation: str) -> None:
        """Operations: a read that finds nothing, or fails, leaves nothing behind."""
        with suppress(LanceNamespaceError):  # Whether it is the right error, other tests ask.
            client.example(operation)
        assert self._seen(workdir) == {}

    @for_each(_READS, None)
    @needs("create_table")
    def test_reading_a_catalog_writes_nothing(self, client: Client, workdir: Path, operation: str) -> None:
        """Operations: a read leaves every stored file as it is."""
        client.example("create_table", ["other"])
        client.prepare(operation)
        before = self._seen(workdir)
        assert before
        client.example(operation)
        assert self._seen(workdir) == before

    @needs()
    def test_namespace_id(self, client: Client) -> None:
        """LanceNamespace.namespace_id: readable, and the same every time, since clients compare namespaces by it."""
        namespace = client.namespace
        assert namespace.namespace_id().isprintable()
        assert namespace.namespace_id().strip()
        assert namespace.namespace_id() == namespace.namespace_id()

    @needs()
    def test_secrets_are_not_shown(self, client: Client, workdir: Path) -> None:
        """LanceNamespace.namespace_id: it is for logs, so it has no secrets; neither has the repr."""
        assert client.namespace is not None
        namespace = self.connect_with_secret(workdir, _SECRET)
        if namespace is None:
            pytest.skip("the backend takes no secrets")
        for shown in (namespace.namespace_id(), repr(namespace), str(namespace)):
            assert _SECRET not in shown

    @needs("describe_table")
    def test_secrets_are_not_in_errors(self, client: Client, workdir: Path) -> None:
        """ErrorResponse: messages are for people and logs, so they have no secrets either."""
        assert client.namespace is not None
        namespace = self.connect_with_secret(workdir, _SECRET)
        if namespace is None:
            pytest.skip("the backend takes no secrets")
        with pytest.raises(LanceNamespaceError) as caught:
            _describe_missing(self, namespace)
        assert _SECRET not in str(caught.value)

    def _seen(self, workdir: Path) -> dict[str, object]:
        found = self.snapshot(workdir)
        if found is None:
            pytest.skip("the suite cannot see what the backend stores")
        return dict(found)


def _describe_missing(backend: BackendFixtures, namespace: LanceNamespace) -> None:
    from lance_namespace import DescribeTableRequest

    backend.call(namespace, "describe_table", DescribeTableRequest(id=["absent"]))
