"""The vector part of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import AnalyzeTableQueryPlanRequest, InvalidInputError, QueryTableRequest

from lancespace_tables._fields import field_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lance

Query = QueryTableRequest | AnalyzeTableQueryPlanRequest
"""Both carry the same query."""

_DISTANCES = ("l2", "cosine", "dot", "hamming")


def is_vector_query(query: Query) -> bool:
    """Whether there is a vector to search for; an empty one is how clients say that there is none."""
    if query.vector.single_vector and query.vector.multi_vector:
        raise InvalidInputError("'vector' must be a single vector or several, not both")
    if not all(query.vector.multi_vector or ()):
        raise InvalidInputError("'vector' must not have an empty one among several")
    return bool(query.vector.single_vector or query.vector.multi_vector)


def is_batch(dataset: lance.LanceDataset, query: Query) -> bool:
    """Whether several vectors are several searches; for a column of multi-vectors they are one."""
    return bool(query.vector.multi_vector) and not pa.types.is_list(_storage(_vector_field(dataset, query).type))


def nearest(dataset: lance.LanceDataset, query: Query, k: int) -> dict[str, Any]:
    """The ``nearest`` argument of a scanner that finds the ``k`` nearest neighbours, or all if there are fewer.

    Lance takes memory for as many rows as these options name, so they are no more than the table has.

    Raises:
        TableColumnNotFoundError: There is no such vector column.
        InvalidInputError: Several columns could be meant, none is a vector, or an option is out of range.
    """
    rows = max(dataset.count_rows(), 1)
    k = max(min(k, rows), 1)
    metric = query.distance_type
    if metric is not None and metric.lower() not in _DISTANCES:
        raise InvalidInputError(f"distance_type must be one of {', '.join(_DISTANCES)}, not {metric!r}")
    return {
        "column": _vector_column(dataset, query),
        "q": query.vector.single_vector or query.vector.multi_vector,
        "k": k,
        "metric": metric,
        "refine_factor": None if query.refine_factor is None else min(query.refine_factor, -(-rows // k)),
        "ef": None if query.ef is None else min(query.ef, max(rows, k)),
        "use_index": not query.bypass_vector_index,
        "distance_range": _bounds(query),
        **_probes(query),
    }


def _probes(query: Query) -> dict[str, int | None]:
    if query.minimum_nprobes is None and query.maximum_nprobes is None:
        return {"nprobes": query.nprobes}
    return {"minimum_nprobes": query.minimum_nprobes, "maximum_nprobes": query.maximum_nprobes}


def _bounds(query: Query) -> tuple[float | None, float | None] | None:
    bounds = (query.lower_bound, query.upper_bound)
    return None if bounds == (None, None) else bounds


def _vector_field(dataset: lance.LanceDataset, query: Query) -> pa.Field:
    return field_at(dataset, _vector_column(dataset, query))


def _vector_column(dataset: lance.LanceDataset, query: Query) -> str:
    """The column that the query names, or the only one there is."""
    if query.vector_column is not None:
        field_at(dataset, query.vector_column)
        return query.vector_column
    found = list(_vector_paths(dataset.schema))
    if len(found) != 1:
        which = f"it has several: {', '.join(found)}" if found else "it has none"
        raise InvalidInputError(
            f"name the vector column to search with 'vector_column', as the table has not just one: {which}"
        )
    return found[0]


def _vector_paths(fields: pa.Schema | pa.StructType, prefix: str = "") -> Iterator[str]:
    for field in fields:
        path = f"{prefix}`{field.name}`" if "." in field.name else f"{prefix}{field.name}"
        kind = _storage(field.type)
        if pa.types.is_struct(kind):
            yield from _vector_paths(kind, f"{path}.")
        elif _is_vector(kind.value_type if pa.types.is_list(kind) else kind):
            yield path


def _is_vector(kind: pa.DataType) -> bool:
    kind = _storage(kind)
    if not pa.types.is_fixed_size_list(kind):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_uint8(kind.value_type))


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
