"""What of the spec a test of the suite covers, and what it asks of a backend.

A test says it in decorators, and two things follow: a backend that lacks something skips the test with a reason; and
the suite can say which rows of the table of operations it covers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import pytest

from lancespace.authoring import COMMON_ERRORS, OPERATIONS

Test = TypeVar("Test", bound=Callable[..., None])
Covered = tuple[str, str]
"""An operation, and the name of the error code that it is made to answer, or :data:`SUCCESS`."""

SUCCESS = ""

_ATTRIBUTE = "conformance"


class Feature(Enum):
    """What a backend may lack that is no operation of its own; the value completes "the backend has no ..."."""

    NESTED_NAMESPACES = "namespaces below namespaces"
    NAMESPACE_PROPERTIES = "properties of namespaces"
    TABLE_PROPERTIES = "properties of tables"
    CASCADE = "DropNamespace with the behavior Cascade"
    RENAME_ACROSS_NAMESPACES = "RenameTable into another namespace"
    REPLACED_ENTRIES = "entries of tables that are replaced in one step"
    ATOMIC_BATCHES = "changes of several tables that happen together or not at all"
    REACHABLE_TABLES = "tables that the suite itself can reach"
    SQL_VIEWS = "materialized views of SQL, in lancespace's form of a source query"


@dataclass(frozen=True)
class Requirement:
    """The sum of a test's decorators."""

    features: frozenset[Feature] = frozenset()
    covers: frozenset[Covered] = frozenset()
    cases: tuple[str, ...] = ()
    """For a test that runs once per operation: these."""

    def operations_of(self, case: str | None) -> frozenset[str]:
        """The operations that the test, or one case of it, is about."""
        return frozenset({case}) if case else frozenset(operation for operation, _ in self.covers)


def requirement(test: object) -> Requirement | None:
    """The requirement of a standard test, which asks for nothing if it has no decorators; None for anything else."""
    is_ours = str(getattr(test, "__module__", "")).startswith(f"{__package__}.groups.")
    return getattr(test, _ATTRIBUTE, Requirement() if is_ours else None)


def needs(*features: Feature) -> Callable[[Test], Test]:
    """Skip a test on a backend that lacks one of these features."""
    return _adding(lambda old: replace(old, features=old.features.union(features)))


def covers(*names: str) -> Callable[[Test], Test]:
    """Say that a test makes these operations succeed or, if there are error codes among the names, answer each."""
    codes = [name for name in names if name.isupper()] or [SUCCESS]
    covered = _check_covered((name, code) for name in names if not name.isupper() for code in codes)
    return _adding(lambda old: replace(old, covers=old.covers | covered))


def for_each(
    operations: Iterable[str] | Mapping[str, Iterable[str]], code: str | None = SUCCESS
) -> Callable[[Test], Test]:
    """Run a test once for each operation, as its argument ``operation``.

    The test covers each operation's success or, with a ``code``, that answer; with None it covers nothing, since it
    looks at something else than what the operation does. A mapping says which codes each case covers.
    """
    cases = tuple(operations)
    codes = operations if isinstance(operations, Mapping) else dict.fromkeys(cases, () if code is None else (code,))
    covered = _check_covered((operation, each) for operation in cases for each in codes[operation])

    def decorate(test: Test) -> Test:
        marked = _adding(lambda old: replace(old, cases=cases, covers=old.covers | covered))(test)
        parametrized: Test = pytest.mark.parametrize("operation", cases)(marked)
        return parametrized

    return decorate


def answering(code: str, *, but: Collection[str] = ()) -> list[str]:
    """The operations that may answer an error code, according to the table, but for these."""
    return [row.name for row in OPERATIONS.values() if code in row.errors and row.name not in but]


def _adding(change: Callable[[Requirement], Requirement]) -> Callable[[Test], Test]:
    def decorate(test: Test) -> Test:
        setattr(test, _ATTRIBUTE, change(requirement(test) or Requirement()))
        return test

    return decorate


def _check_covered(pairs: Iterable[Covered]) -> frozenset[Covered]:
    covered = frozenset(pairs)
    for operation, code in covered:
        if operation not in OPERATIONS:
            raise ValueError(f"no operation of the table: {operation}")
        if code not in {SUCCESS, *COMMON_ERRORS, *OPERATIONS[operation].errors}:
            raise ValueError(f"{operation} does not answer {code!r}, according to the table of operations")
    return covered
