"""No side effects where none are expected, and no secrets where others read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from lance_namespace import DescribeTableRequest, LanceNamespace, LanceNamespaceError

from lancespace.authoring import OPERATIONS
from lancespace_testing import examples
from lancespace_testing.client import Client, closing_if_possible
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import for_each

_READS = [row.name for row in OPERATIONS.values() if not row.writes and row.name != "describe_transaction"]
_SECRET = "s3cr3t-5ha11-n0t-b3-5h0wn"  # noqa: S105 - it must not be shown, which is the test


class SafetyTests(BackendFixtures):
    """Construction and reads write nothing, so that read-only credentials are enough for them."""

    @pytest.fixture
    def secretive(self, workdir: Path) -> Iterator[LanceNamespace]:
        """A namespace that has a secret to keep; skips where the backend takes none."""
        namespace = self.connect_with_secret(workdir, _SECRET)
        if namespace is None:
            pytest.skip("the backend takes no secrets")
        with closing_if_possible(namespace):
            yield namespace

    @pytest.mark.usefixtures("client")
    def test_connecting_writes_nothing(self, workdir: Path) -> None:
        """Objects & Relationships: the root namespace is assumed to exist; connecting to it does not make it."""
        assert self._seen(workdir) == {}

    def test_reconnecting_writes_nothing(self, client: Client, workdir: Path, request: pytest.FixtureRequest) -> None:
        """Objects & Relationships: nor does connecting to a catalog that has something in it change that."""
        client.example("create_namespace")
        client.example("create_table", [*examples.NAMESPACE, "t"])
        before = self._filled(workdir)
        request.getfixturevalue("second")
        assert self._seen(workdir) == before

    @for_each(_READS, None)
    def test_reading_an_empty_catalog_writes_nothing(self, client: Client, workdir: Path, operation: str) -> None:
        """Operations: a read that finds nothing, or fails, leaves nothing behind."""
        with suppress(LanceNamespaceError):  # Whether it is the right error, other tests ask.
            client.example(operation)
        assert self._seen(workdir) == {}

    @for_each(_READS, None)
    def test_reading_a_catalog_writes_nothing(self, client: Client, workdir: Path, operation: str) -> None:
        """Operations: a read leaves every stored file as it is."""
        client.example("create_table", ["other"])
        client.prepare(operation)
        before = self._filled(workdir)
        client.example(operation)
        assert self._seen(workdir) == before

    def test_namespace_id(self, client: Client) -> None:
        """LanceNamespace.namespace_id: readable, and the same every time, since clients compare namespaces by it."""
        namespace = client.namespace
        assert namespace.namespace_id().isprintable()
        assert namespace.namespace_id().strip()
        assert namespace.namespace_id() == namespace.namespace_id()

    @pytest.mark.usefixtures("client")
    def test_secrets_are_not_shown(self, secretive: LanceNamespace) -> None:
        """LanceNamespace.namespace_id: it is for logs, so it has no secrets; neither has the repr."""
        for shown in (secretive.namespace_id(), repr(secretive), str(secretive)):
            assert _SECRET not in shown

    @pytest.mark.usefixtures("client")
    def test_secrets_are_not_in_errors(self, secretive: LanceNamespace) -> None:
        """ErrorResponse: messages are for people and logs, so they have no secrets either."""
        with pytest.raises(LanceNamespaceError) as caught:
            self.call(secretive, "describe_table", DescribeTableRequest(id=["absent"]))
        assert _SECRET not in str(caught.value)

    def _seen(self, workdir: Path) -> dict[str, object]:
        found = self.snapshot(workdir)
        if found is None:
            pytest.skip("the suite cannot see what the backend stores")
        return dict(found)

    def _filled(self, workdir: Path) -> dict[str, object]:
        found = self._seen(workdir)
        assert found, "snapshot() shows nothing of a table that was created: override it, or let it answer None"
        return found
