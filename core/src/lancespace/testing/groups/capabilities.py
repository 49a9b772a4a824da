"""Capabilities: what a backend claims, it does; what it does not claim, it refuses."""

from __future__ import annotations

from dataclasses import replace

from lancespace.models import model
from lancespace.operations import OPERATIONS, Payload
from lancespace.testing import examples
from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import for_each, needs

_WITH_OTHER_TESTS = {
    "register_table",  # Starts from a real location: see the group of tables.
    "create_table_version",  # Start from a staged manifest: see the group of commits.
    "batch_create_table_versions",
    "alter_table_backfill_columns",  # Start from a computed column or its job: see the group of jobs.
    "describe_transaction",
    "alter_transaction",
}


class CapabilityTests(BackendFixtures):
    """Error Handling: code 0 (Unsupported), and the response models."""

    @for_each({name: examples.prerequisites(name) for name in OPERATIONS if name not in _WITH_OTHER_TESTS}, None)
    @needs()
    def test_supported_operation(self, client: Client, operation: str) -> None:
        """Operations: an operation that is claimed answers a good request with its response model."""
        client.prepare(operation)
        row = OPERATIONS[operation]
        expected = str if row.result is Payload.TEXT else model(row.response)
        assert isinstance(client.example(operation), expected)

    @needs()
    def test_unsupported_operations(self, client: Client) -> None:
        """Error Handling: code 0 for an operation that is not claimed."""
        anything = replace(client, allowed=frozenset(OPERATIONS))
        for operation in sorted(OPERATIONS.keys() - client.supported):
            with client.unchanged(), raises("UNSUPPORTED"):
                anything.example(operation)

    @needs()
    def test_capabilities_are_operations(self, client: Client) -> None:
        """Operations: what is claimed are operations of the spec, by their names."""
        assert client.supported
        assert client.supported <= OPERATIONS.keys()
