"""Queries over tables that the caller opens: their sources, their shape, and their rows, whole or in pieces."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableNotFoundError

from lancespace import Namespace
from lancespace_sql.pinned import Names, plan, run, run_on_batches

ROW_WISE = {
    "SELECT id, total * 2 AS twice FROM sales.orders WHERE person = 1": ("id", "person", "total"),
    "SELECT * FROM sales.orders": ("id", "person", "total"),
    "SELECT x.id FROM (SELECT id, total FROM sales.orders WHERE total > 7) x WHERE x.id < 3": ("id", "total"),
    "WITH o AS (SELECT * FROM sales.orders) SELECT person FROM o": ("person",),
    "SELECT 1 AS one FROM sales.orders": ("id",),
    "SELECT unnest([id, person]) AS n FROM sales.orders": ("id", "person"),
}
NOT_ROW_WISE = (
    "SELECT count(*) FROM sales.orders",
    "SELECT DISTINCT person FROM sales.orders",
    "SELECT id FROM sales.orders ORDER BY total",
    "SELECT id FROM sales.orders LIMIT 1",
    "SELECT id FROM sales.orders UNION ALL SELECT id FROM events",
    "SELECT o.id FROM sales.orders o JOIN crm.people p ON o.person = p.id",
    "SELECT a.id FROM sales.orders a, sales.orders b WHERE a.id = b.person",
    "SELECT id, row_number() OVER (ORDER BY total) AS n FROM sales.orders",
    "SELECT id, (SELECT max(total) FROM sales.orders) AS most FROM sales.orders",
    "SELECT id FROM sales.orders WHERE total = (SELECT max(total) FROM sales.orders)",
    "SELECT id FROM sales.orders WHERE person IN (SELECT id FROM crm.people)",
    "SELECT id FROM sales.orders o WHERE EXISTS (SELECT 1 FROM crm.people p WHERE p.id = o.person)",
)


class Opener:
    """Opens tables of a catalog, and remembers which."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self.opened: list[Names] = []

    def __call__(self, names: Names) -> lance.LanceDataset:
        self.opened.append(names)
        return self._namespace.table(names).dataset()


@pytest.fixture
def opener(catalog: Namespace) -> Opener:
    return Opener(catalog)


@pytest.mark.parametrize("statement", ROW_WISE)
def test_a_row_wise_query_says_what_it_reads(opener: Opener, statement: str):
    planned = plan(statement, opener)

    assert planned.columns == ROW_WISE[statement]
    assert opener.opened == list(planned.sources) == [("sales", "orders")]


@pytest.mark.parametrize("statement", ROW_WISE)
def test_it_is_the_sum_of_what_it_is_for_batches(opener: Opener, statement: str):
    planned = plan(statement, opener)
    ((_, dataset),) = planned.sources.items()
    batches = dataset.scanner(columns=list(planned.columns or ()), batch_size=1).to_batches()

    pieces = pa.Table.from_batches(list(run_on_batches(statement, dataset.schema, batches)), planned.schema)

    whole = run(statement, opener).read_all()
    assert sorted(pieces.to_pylist(), key=repr) == sorted(whole.to_pylist(), key=repr)


@pytest.mark.parametrize("statement", NOT_ROW_WISE)
def test_other_queries_are_not_taken_for_row_wise(opener: Opener, statement: str):
    planned = plan(statement, opener)

    assert planned.columns is None
    assert len(opener.opened) == len(set(opener.opened)) == len(planned.sources)


def test_all_sources_are_found_wherever_they_are_named(opener: Opener):
    statement = (
        "WITH p AS (SELECT id FROM crm.people) SELECT id FROM sales.orders "
        "WHERE person IN (SELECT id FROM p) AND id NOT IN (SELECT id FROM sales.eu.orders)"
    )

    assert set(plan(statement, opener).sources) == {("sales", "orders"), ("crm", "people"), ("sales", "eu", "orders")}


def test_columns_with_names_that_need_quotes(namespace: Namespace):
    namespace.create_table("odd", [{"a b": 1, 'q"q': 2, "C": 3, "unused": [1.0]}])
    opener = Opener(namespace)
    statement = 'SELECT "a b" + "q""q" AS sum, "C" FROM odd'
    planned = plan(statement, opener)
    dataset = opener(("odd",))
    batches = dataset.scanner(columns=list(planned.columns or ())).to_batches()

    (found,) = run_on_batches(statement, dataset.schema, batches)

    assert planned.columns == ("a b", 'q"q', "C")
    assert found.to_pylist() == [{"sum": 3, "C": 3}]


def test_what_is_no_select_is_refused(opener: Opener):
    for statement in ("EXPLAIN SELECT id FROM events", "DESCRIBE events", "DROP TABLE events"):
        with pytest.raises(InvalidInputError):
            plan(statement, opener)


def test_a_missing_table_is_the_error_of_the_opener(opener: Opener):
    with pytest.raises(TableNotFoundError, match="absent"):
        plan("SELECT id FROM sales.absent", opener)
