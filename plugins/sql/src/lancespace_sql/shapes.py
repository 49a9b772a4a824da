"""The shape of a query, read off its plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from datafusion.plan import LogicalPlan

_ROW_BY_ROW = {"Projection", "Filter", "SubqueryAlias", "Unnest", "TableScan"}
"""Steps whose result for a table is the sum of their results for its rows."""
_SUBQUERY = "<subquery>"
"""How a plan shows an expression that looks at another table, or at the whole of this one."""


def is_row_wise(plan: LogicalPlan) -> bool:
    """Whether a plan that is not optimised yet looks at one row of one table at a time: it selects and computes."""
    steps = list(_steps(plan))
    kinds = [type(step.to_variant()).__name__ for step in steps]
    scans = kinds.count("TableScan")
    return scans == 1 and set(kinds) <= _ROW_BY_ROW and not any(_SUBQUERY in step.display() for step in steps)


def columns_read(plan: LogicalPlan, schema: pa.Schema) -> tuple[str, ...]:
    """The columns that an optimised plan over one table takes from it; at least one, for the rows to be counted."""
    scans = [step.to_variant() for step in _steps(plan) if type(step.to_variant()).__name__ == "TableScan"]
    read = {column[1] if isinstance(column, tuple) else str(column) for scan in scans for column in scan.projection()}
    return tuple(name for name in schema.names if name in read) or (schema.names[0],)


def _steps(plan: Any) -> Iterator[Any]:
    yield plan
    for step in plan.inputs():
        yield from _steps(step)
