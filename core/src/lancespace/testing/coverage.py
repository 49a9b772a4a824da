"""How much of the spec the suite covers."""

from __future__ import annotations

from collections.abc import Mapping

from lancespace.operations import OPERATIONS
from lancespace.testing.debts import standard_tests
from lancespace.testing.requirements import SUCCESS, Covered, requirement
from lancespace.testing.suite import Conformance

NOT_COVERED: Mapping[Covered, str] = {
    (
        "insert_into_table",
        "INVALID_TABLE_STATE",
    ): "an insert creates a declared table, and no request makes a worse state",
    ("merge_insert_into_table", "INVALID_TABLE_STATE"): "a merge creates a declared table, as an insert does",
    ("list_table_versions", "INVALID_TABLE_STATE"): "a declared table has no versions, and that is the answer",
    ("alter_table_backfill_columns", "CONCURRENT_MODIFICATION"): "the request only starts a job",
    ("refresh_materialized_view", "CONCURRENT_MODIFICATION"): "the request only starts a job",
    (
        "alter_transaction",
        "CONCURRENT_MODIFICATION",
    ): "which states a transaction can no longer leave, the spec does not say",
}
"""What the table of operations has and no test of the suite makes happen, and why."""


def covered() -> frozenset[Covered]:
    """What the tests say that they make happen: operations that succeed, and the codes that they answer."""
    asked = map(requirement, standard_tests(Conformance).values())
    return frozenset(pair for each in asked if each is not None for pair in each.covers)


def specified() -> frozenset[Covered]:
    """What the table of operations says can happen, beside the errors that every operation has."""
    return frozenset((row.name, code) for row in OPERATIONS.values() for code in (SUCCESS, *row.errors))
