"""pylance's RestNamespace against our server, under the conformance suite: all operations, as others call them.

Written for pylance 14.0.2. What its client falls short of is declared by defect; when a release pays one of these
debts, its tests fail here until they are taken off the list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from lance.namespace import RestNamespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lancespace_testing import Conformance, Feature
from plugins.server.tests.hosting import Running, catalog_url
from tests.conformance import calling

_DEFECTS: dict[str, list[str]] = {
    "CreateTableScalarIndex answers with another operation's model": [
        "test_supported_operation[create_table_scalar_index]"
    ],
    "AlterTransaction is sent without its actions": ["test_alter_transaction", "test_properties_of_transaction"],
}


class TestPylanceClient(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}
    debts: ClassVar = {test: defect for defect, tests in _DEFECTS.items() for test in tests}

    @pytest.fixture(autouse=True)
    def _use_host(self, host: Running) -> None:
        self.host = host

    def connect(self, workdir: Path) -> LanceNamespace:
        namespace: LanceNamespace = RestNamespace(uri=catalog_url(self.host, workdir))
        return namespace

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> LanceNamespace:  # noqa: ARG002
        return self.connect(workdir)

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        return calling.call(namespace, operation, request, data)
