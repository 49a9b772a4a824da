"""Counts, sums, least and greatest values of a whole table: each task answers one row instead of handing over all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lancespace_spark.predicates import COMPARABLE, INTEGERS, is_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from lancespace_spark.catalyst import Node
    from lancespace_spark.needs import Scan

_FUNCTIONS = {"Count": "count", "Sum": "sum", "Min": "min", "Max": "max"}
"""Those that can be computed part by part with the same result, by Catalyst's names."""
_SUM = pa.decimal128(38, 0)
"""The sum of a part: large enough for any, as only the whole has to fit."""
_CHAIN = 4
"""How many nodes an aggregate of a column is in Catalyst."""
_HALF = 32
"""Bits: sums of the halves of numbers fit where those of the numbers do not."""


@dataclass(frozen=True)
class Aggregate:
    """One column of the answer."""

    name: str
    """In the answer."""
    function: str
    column: str | None
    """None counts rows."""


def of_statement(frame: DataFrame, scan: Scan) -> list[Aggregate] | None:
    """What a statement computes, if that is all that it does with the rows of its only scan."""
    above = scan.rest
    if not scan.is_top or len(above) != 1 or above[0].kind != "Aggregate" or above[0].fields["groupingExpressions"]:
        return None
    found = [_aggregate(one) for one in above[0].inner("aggregateExpressions")]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or (any(one.function == "sum" for one in known) and not _is_strict(frame)):
        return None
    return known


def _is_strict(frame: DataFrame) -> bool:
    """Whether a sum that overflows is an error, as here: ``try_sum`` answers null, and without ANSI it goes round."""
    plan = frame._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001 - Python has no other way to the plan
    return "try_sum(" not in plan and frame.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"


def columns_of(aggregates: Sequence[Aggregate], stored: pa.Schema) -> pa.Schema:
    """What a task reads: if no column is needed, then the numbers of the rows, which are in no file."""
    needed = {one.column for one in aggregates}
    return pa.schema([field for field in stored if field.name in needed] or [pa.field("_rowid", pa.uint64())])


def are_rows(aggregates: Sequence[Aggregate]) -> bool:
    """Whether they only count rows, whatever is in them."""
    return all(one.column is None for one in aggregates)


def part_schema(aggregates: Sequence[Aggregate], stored: pa.Schema) -> pa.Schema:
    """The schema of the row that each task answers; its columns are numbered, since names may be there twice."""
    return pa.schema([pa.field(str(number), _type(one, stored)) for number, one in enumerate(aggregates)])


def part(aggregates: Sequence[Aggregate], batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """The row of a task that reads these batches."""
    values: list[Any] = [0 if one.function == "count" else None for one in aggregates]
    for batch in batches:
        for number, one in enumerate(aggregates):
            values[number] = _joined(one.function, values[number], _of_batch(one, batch))
    columns = [
        pa.array([Decimal(value) if field.type == _SUM and value is not None else value], field.type)
        for value, field in zip(values, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def whole(parts: DataFrame, aggregates: Sequence[Aggregate]) -> DataFrame:
    """The answer, from the rows of all tasks."""
    return parts.agg(*(_whole(str(number), one) for number, one in enumerate(aggregates)))


def _whole(part_name: str, one: Aggregate) -> Column:
    from pyspark.sql import functions

    column = functions.col(part_name)
    answers = {
        "count": lambda: functions.coalesce(functions.sum(column), functions.lit(0)),
        "sum": lambda: functions.sum(column).cast("long"),
        "min": lambda: functions.min(column),
        "max": lambda: functions.max(column),
    }
    return answers[one.function]().alias(one.name)


def _aggregate(expression: Node) -> Aggregate | None:
    """Catalyst's ``Alias(AggregateExpression(function(argument)))``, and nothing else."""
    kinds = [one.kind for one in expression.below()]
    if kinds[:2] != ["Alias", "AggregateExpression"] or len(kinds) != _CHAIN:
        return None
    _, how, called, argument = expression.below()
    function = _FUNCTIONS.get(called.kind)
    if function is None or how.fields["isDistinct"] or not _is_possible(function, argument):
        return None
    column = str(argument.fields["name"]) if argument.kind == "AttributeReference" else None
    return Aggregate(str(expression.fields["name"]), function, column)


def _is_possible(function: str, argument: Node) -> bool:
    """Floats are Spark's: what their sum is depends on the order, and it has its own place for NaN."""
    if argument.kind == "Literal":
        return function == "count" and argument.fields["value"] is not None
    if argument.kind != "AttributeReference":
        return False
    return function == "count" or is_of(argument, INTEGERS if function == "sum" else COMPARABLE)


def _type(one: Aggregate, stored: pa.Schema) -> pa.DataType:
    if one.function == "count":
        return pa.int64()
    return _SUM if one.function == "sum" else stored.field(str(one.column)).type


def _of_batch(one: Aggregate, batch: pa.RecordBatch) -> Any:
    if one.column is None:
        return batch.num_rows
    column = batch.column(one.column)
    if one.function == "count":
        return len(column) - column.null_count
    if one.function == "sum":
        return _sum(column.cast(pa.int64()))
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())  # Python has no days after the year 9999, and Spark has.
    return pc.min_max(column)[one.function].as_py()


def _sum(numbers: pa.Int64Array) -> int | None:
    """Exact: Arrow's own sum of 64-bit numbers goes round where it overflows."""
    upper = pc.sum(pc.shift_right(numbers, _HALF)).as_py()
    lower = pc.sum(pc.bit_wise_and(numbers, (1 << _HALF) - 1)).as_py()
    return None if upper is None else (upper << _HALF) + lower


def _joined(function: str, one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one + other if function in {"count", "sum"} else {"min": min, "max": max}[function](one, other)
