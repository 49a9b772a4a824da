"""The conformance suite through the client, on a server that nobody here wrote: pylance's RestAdapter.

The server has the defects of the DirectoryNamespace behind it, which ``tests/conformance/test_pylance.py`` lists; here
is only what differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import pytest
from lance.namespace import RestAdapter
from lance_namespace import LanceNamespace

import lancespace
from lancespace_testing import Conformance, Feature
from lancespace_testing.debts import ids, reason, standard_tests
from lancespace_testing.samples import sample
from tests.conformance import test_pylance

_NOT_IMPLEMENTED = {
    *test_pylance._NOT_IMPLEMENTED,
    "batch_commit_tables",
    "batch_create_table_versions",
    "update_field_metadata",
}

_MENDED = {
    "an empty identifier is reported as unsupported, or as a ValueError",
    "names that are none, or lead out of the catalog, are taken",
    "CreateTableScalarIndex answers with another operation's model",
}
"""Defects of pylance's Python classes, or of what the client refuses before it is sent."""


def _debts() -> dict[str, str]:
    """Pylance's own, but for what is mended."""
    theirs = test_pylance.TestPylanceDirectory.debts
    known = [id_ for name, test in standard_tests(Conformance).items() for id_ in ids(name, test)]
    owed = {id_: why for id_ in known if (why := reason(theirs, id_)) is not None and why not in _MENDED}
    owed["test_unsupported_operations"] = "what is not implemented is answered with code 18, not code 0"
    return {id_: why for id_, why in owed.items() if not id_.startswith("test_no_identifier")}


class TestRestAdapter(Conformance):
    debts = _debts()
    features = frozenset(Feature) - {Feature.TABLE_PROPERTIES, Feature.SQL_VIEWS}

    @pytest.fixture(autouse=True)
    def served(self, workdir: Path) -> Iterator[None]:
        with RestAdapter("dir", {"root": str(workdir)}, port=0) as adapter:
            self.uri = f"http://127.0.0.1:{adapter.port}"
            yield

    def connect(self, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002 - the server has it
        return lancespace.connect("rest", {"uri": self.uri})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002 - two are alike
        return self.connect(workdir)

    def connect_with_secret(self, workdir: Path, secret: str) -> lancespace.Namespace:  # noqa: ARG002 - as above
        properties = {"rest.auth.type": "bearer", "rest.auth.bearer.token": secret, "header.x-key": secret}
        return lancespace.connect("rest", {"uri": self.uri, **properties})

    def capabilities(self, namespace: LanceNamespace) -> set[str]:
        return set(super().capabilities(namespace)) - _NOT_IMPLEMENTED

    def place_table(self, workdir: Path, name: str) -> str:
        """It registers only what is in its root already, by the relative path."""
        lance.write_dataset(sample(), str(workdir / name))
        return name
