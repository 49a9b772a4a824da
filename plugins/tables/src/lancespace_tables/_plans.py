"""How a query is, or was, executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lancespace.authoring import hookimpl, translated
from lancespace_tables._access import OperationGroup, name_of
from lancespace_tables._scans import check_size, hybrid_scanners, is_hybrid, scanner

if TYPE_CHECKING:
    from collections.abc import Callable

    import lance
    from lance_namespace import AnalyzeTableQueryPlanRequest, ExplainTableQueryPlanRequest

    from lancespace_tables._vectors import Query


class PlanOperations(OperationGroup):
    """explain_table_query_plan and analyze_table_query_plan, for every query that query_table takes."""

    @hookimpl
    def explain_table_query_plan(self, request: ExplainTableQueryPlanRequest) -> str:
        """The plan of a query, without executing it; the table is that of the request, not of the query within."""
        query = request.query
        dataset = self.backend.locate(request).open(query.version, request.branch or query.branch)
        with translated(f"explain a query of table {name_of(request)!r}"):
            return _by_scanner(dataset, query, lambda each: each.explain_plan(verbose=bool(request.verbose)))

    @hookimpl
    def analyze_table_query_plan(self, request: AnalyzeTableQueryPlanRequest) -> str:
        """The plan of a query with the figures of its execution."""
        dataset = self.backend.open(request)
        limits = self.backend.query_limits()
        with translated(f"analyze a query of table {name_of(request)!r}"):
            if limits is not None:
                check_size(dataset, request, limits.result_bytes)
            return _by_scanner(dataset, request, lambda each: each.analyze_plan())


def _by_scanner(dataset: lance.LanceDataset, query: Query, report: Callable[[lance.LanceScanner], str]) -> str:
    """What there is to report; a hybrid query has two plans, each under its heading."""
    if not is_hybrid(query):
        return report(scanner(dataset, query))
    return "\n".join(f"{title}:\n{report(each)}" for title, each in hybrid_scanners(dataset, query).items())
