"""The conformance suite turned round: backends so broken that no test of what they break may pass.

Each suite declares all of its tests as debts; a debt that passes is a failure, so a test that cannot fail shows up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import InternalError, LanceNamespace, LanceNamespaceError
from pydantic import BaseModel

from lancespace._namespace import Namespace
from lancespace.authoring import OPERATIONS, model
from lancespace_testing import BackendFixtures, Conformance, Feature, waiting
from lancespace_testing.debts import ids, standard_tests
from lancespace_testing.requirements import SUCCESS, Requirement, requirement


class Memory(BackendFixtures):
    """The reference backend, for the tests that are given to its subclasses."""

    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    def connect(self, workdir: Path) -> Namespace:  # noqa: ARG002 - what it stores does not matter here
        return Namespace("memory", {})


class WrongCodes(Memory):
    """Whatever it answers, it is another code."""

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        try:
            return super().call(namespace, operation, request, data)
        except LanceNamespaceError as error:
            raise InternalError(str(error)) from error


class DoesNothing(Memory):
    """It answers the operations that a test covers, and does not do them."""

    @pytest.fixture(autouse=True)
    def covered_here(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        told = requirement(request.function)
        self.idle = {operation for operation, _ in told.covers} if told else set()
        monkeypatch.setattr(waiting, "PATIENCE", 0.0)

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        if operation in self.idle and OPERATIONS[operation].writes:
            return model(OPERATIONS[operation].response).model_construct(location="/nowhere", version=2, job_id="none")
        return super().call(namespace, operation, request, data)


def _all_fail(fixtures: type[BackendFixtures], why: str, covering: Callable[[str, str], bool]) -> type[BackendFixtures]:
    """A suite of those standard tests that cover something, none of which may pass."""
    tests = {
        name: test
        for name, test in standard_tests(Conformance).items()
        if any(covering(*pair) for pair in (requirement(test) or Requirement()).covers)
    }
    debts = {id_: why for name, test in tests.items() for id_ in ids(name, test)}
    return type(fixtures.__name__, (fixtures,), {**tests, "debts": debts})


TestWrongCodes = _all_fail(
    WrongCodes, "it answers another code", lambda _, code: code not in {SUCCESS, "CONCURRENT_MODIFICATION"}
)
TestDoesNothing = _all_fail(
    DoesNothing,
    "it does nothing",
    # A job that nobody cancels may end as well as one that is canceled too late.
    lambda operation, code: OPERATIONS[operation].writes and code == SUCCESS and operation != "alter_transaction",
)
