"""Query plans."""

from __future__ import annotations

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.examples import ALL_ROWS
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import covers, needs
from lancespace.testing.samples import sample

_SEARCH = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2, "filter": "id > 1"}


class PlanTests(BackendFixtures):
    """ExplainTableQueryPlan, AnalyzeTableQueryPlan."""

    @covers("explain_table_query_plan")
    @needs("create_table")
    def test_explain_query(self, client: Client) -> None:
        """ExplainTableQueryPlan: a text that tells how this query is executed, so another one for another query."""
        client("create_table", sample(), id=["t"])
        scan = client("explain_table_query_plan", id=["t"], query=ALL_ROWS)
        search = client("explain_table_query_plan", id=["t"], query=_SEARCH, verbose=True)
        assert isinstance(scan, str)
        assert scan.strip()
        assert search != scan

    @covers("analyze_table_query_plan")
    @needs("create_table")
    def test_analyze_query(self, client: Client) -> None:
        """AnalyzeTableQueryPlan: the plan as it was executed, with what was measured."""
        client("create_table", sample(), id=["t"])
        scan = client("analyze_table_query_plan", id=["t"], **ALL_ROWS)
        search = client("analyze_table_query_plan", id=["t"], **_SEARCH)
        assert isinstance(scan, str)
        assert scan.strip()
        assert search != scan

    @covers("explain_table_query_plan", "INVALID_INPUT")
    @covers("analyze_table_query_plan", "INVALID_INPUT")
    @needs("create_table")
    def test_plan_of_bad_query(self, client: Client) -> None:
        """ExplainTableQueryPlan, AnalyzeTableQueryPlan: code 13 for what QueryTable refuses with it."""
        client("create_table", sample(), id=["t"])
        bad = {**ALL_ROWS, "filter": "id = = 1"}
        with raises("INVALID_INPUT"):
            client("explain_table_query_plan", id=["t"], query=bad)
        with raises("INVALID_INPUT"):
            client("analyze_table_query_plan", id=["t"], **bad)
