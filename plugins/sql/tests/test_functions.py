"""Tables as they were: versions, tags and branches."""

from __future__ import annotations

import pytest
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)

from lancespace import Namespace
from lancespace_sql import sql


@pytest.fixture(scope="module")
def history(catalog: Namespace) -> Namespace:
    """sales.orders has three rows in version 1, tagged, two in version 2, and four on a branch of version 1."""
    catalog.create_table_tag("sales.orders", tag="audited", version=1)
    catalog.create_table_branch("sales.orders", name="trial")
    catalog.delete_from_table("sales.orders", predicate="id = 1")
    catalog.insert_into_table("sales.orders", [{"id": 4, "person": 2, "total": 1.0}], branch="trial")
    return catalog


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("sales.orders", 2),
        ("at_version('sales.orders', 1)", 3),
        ("at_version('sales.orders', 2)", 2),
        ("at_tag('sales.orders', 'audited')", 3),
        ("at_branch('sales.orders', 'trial')", 4),
    ],
)
def test_a_table_as_it_was(history: Namespace, table: str, count: int):
    assert sql(history, f"SELECT count(*) AS n FROM {table}").read_all().to_pylist() == [{"n": count}]


def test_then_and_now_can_be_joined_and_filters_still_go_to_lance(history: Namespace):
    gone = "FROM at_version('sales.orders', 1) o LEFT ANTI JOIN sales.orders n ON o.id = n.id WHERE o.id < 3"

    assert sql(history, f"SELECT o.id {gone}").read_all().to_pylist() == [{"id": 1}]
    plan = sql(history, f"EXPLAIN SELECT o.id {gone}").read_all()["plan"][0].as_py()
    assert "full_filters=[at_version().id < Int64(3)]" in plan


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("at_version('sales.orders', 9)", TableVersionNotFoundError, "no version 9"),
        ("at_tag('sales.orders', 'nope')", TableTagNotFoundError, "nope"),
        ("at_branch('sales.orders', 'nope')", TableBranchNotFoundError, "no branch 'nope'"),
        ("at_version('sales.nope', 1)", TableNotFoundError, "nope"),
        ("at_version('sales..orders', 1)", InvalidInputError, "empty name"),
        ("at_version('sales.orders')", InvalidInputError, r"as literals: at_version\('sales.orders', 3\)\.$"),
        ("at_version('sales.orders', 1, 2)", InvalidInputError, "as literals"),
        ("at_version('sales.orders', 'x')", InvalidInputError, "as literals"),
        ("at_version(1, 1)", InvalidInputError, "as literals"),
        ("at_tag('sales.orders', NULL)", InvalidInputError, r"as literals: at_tag\('sales.orders', 'release'\)\.$"),
        ("crm.people p, at_tag(p.name, 'audited')", InvalidInputError, "as literals"),
    ],
)
def test_what_cannot_be_had_is_the_error_of_the_spec(
    history: Namespace, call: str, kind: type[LanceNamespaceError], message: str
):
    with pytest.raises(kind, match=message):
        sql(history, f"SELECT * FROM {call}")
