"""What a test of the suite asks of a backend, and what of the spec it covers.

A test says it in decorators, and three things follow: a backend without one of the operations skips the test with a
reason; the test may call no operation that it did not name; and the suite can say which rows of the table of operations
it covers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

import pytest

from lancespace.operations import COMMON_ERRORS, OPERATIONS

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

    operations: frozenset[str] = frozenset()
    features: frozenset[Feature] = frozenset()
    covers: frozenset[Covered] = frozenset()
    cases: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For a test that runs once per operation: what each case calls beside :attr:`operations`."""

    def operations_of(self, case: str | None) -> frozenset[str]:
        """What the test calls, or one case of it."""
        return self.operations if case is None else self.operations | self.cases[case]


def requirement(test: object) -> Requirement | None:
    """The requirement of a standard test; None for anything else."""
    return getattr(test, _ATTRIBUTE, None)


def needs(*wanted: str | Feature) -> Callable[[Test], Test]:
    """Mark a standard test, as every one must be: the operations it calls, and the features it relies on."""
    operations = frozenset(name for name in wanted if isinstance(name, str))
    features = frozenset(name for name in wanted if isinstance(name, Feature))
    _check_known(operations)
    return _adding(lambda old: replace(old, operations=old.operations | operations, features=old.features | features))


def covers(operation: str, *codes: str) -> Callable[[Test], Test]:
    """Say that a test makes the operation succeed, or answer each of these error codes."""
    covered = _check_covered((operation, code) for code in codes or (SUCCESS,))
    return _adding(lambda old: replace(old, operations=old.operations | {operation}, covers=old.covers | covered))


def for_each(
    cases: Collection[str] | Mapping[str, Collection[str]], code: str | None = SUCCESS
) -> Callable[[Test], Test]:
    """Run a test once for each operation, as its argument ``operation``; a mapping says what else each case calls.

    The test covers each operation's success or, with a ``code``, that answer; with None it covers nothing, since it
    looks at something else than what the operation does.
    """
    extra = cases if isinstance(cases, Mapping) else dict.fromkeys(cases, ())
    called = {operation: frozenset({operation, *others}) for operation, others in extra.items()}
    _check_known(name for names in called.values() for name in names)
    covered = _check_covered((operation, code) for operation in called if code is not None)

    def decorate(test: Test) -> Test:
        marked = _adding(lambda old: replace(old, cases=called, covers=old.covers | covered))(test)
        parametrized: Test = pytest.mark.parametrize("operation", list(called))(marked)
        return parametrized

    return decorate


def answering(code: str) -> list[str]:
    """The operations that may answer an error code, according to the table."""
    return [row.name for row in OPERATIONS.values() if code in row.errors]


def _adding(change: Callable[[Requirement], Requirement]) -> Callable[[Test], Test]:
    def decorate(test: Test) -> Test:
        setattr(test, _ATTRIBUTE, change(requirement(test) or Requirement()))
        return test

    return decorate


def _check_known(names: Iterable[str]) -> None:
    unknown = set(names) - OPERATIONS.keys()
    if unknown:
        raise ValueError(f"no operations of the table: {', '.join(sorted(unknown))}")


def _check_covered(pairs: Iterable[Covered]) -> frozenset[Covered]:
    covered = frozenset(pairs)
    _check_known(operation for operation, _ in covered)
    for operation, code in covered:
        if code not in {SUCCESS, *COMMON_ERRORS, *OPERATIONS[operation].errors}:
            raise ValueError(f"{operation} does not answer {code!r}, according to the table of operations")
    return covered
