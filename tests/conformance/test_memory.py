"""The reference backend passes the whole suite, without debts; and the tests do what they say they cover."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import LanceNamespace
from pydantic import BaseModel

import lancespace
from lancespace_testing import Conformance, Feature
from lancespace_testing.client import Client, code_of
from lancespace_testing.requirements import SUCCESS, Covered, requirement

_UP_TO_THE_BACKEND = {
    "CONCURRENT_MODIFICATION",  # A race need not have losers.
    "TABLE_VERSION_NOT_FOUND",  # BatchDeleteTableVersions may also answer that it deleted nothing.
}


class TestMemory(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    def connect(self, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002 - see tables_in_workdir
        return lancespace.connect("memory", {})

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        try:
            answer = super().call(namespace, operation, request, data)
        except Exception as error:
            self.happened.add((operation, code_of(error)))
            raise
        self.happened.add((operation, SUCCESS))
        return answer

    @pytest.fixture(autouse=True)
    def tables_in_workdir(self, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The backend keeps its tables in the temporary directory; the suite looks at the working directory."""
        monkeypatch.setattr(tempfile, "tempdir", str(workdir))

    @pytest.fixture(autouse=True)
    def covers_what_it_says(
        self,
        request: pytest.FixtureRequest,
        client: Client,  # noqa: ARG002 - after the client, which skips what is not supported
    ) -> Iterator[None]:
        """What a test says it covers, it made happen."""
        self.happened: set[Covered] = set()
        yield
        case = getattr(request.node, "callspec", None)
        told = requirement(request.function)
        assert told is not None
        covers = {pair for pair in told.covers if case is None or pair[0] == case.params["operation"]}
        assert {pair for pair in covers - self.happened if pair[1] not in _UP_TO_THE_BACKEND} == set()
