"""From a query to the Lance scanners that answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace_tables._expressions import all_shallow, shallow
from lancespace_tables._fields import check_new_name
from lancespace_tables._fulltext import full_text
from lancespace_tables._row_sizes import batch_rows, check_result
from lancespace_tables._vectors import Query, is_batch, is_vector_query, nearest

if TYPE_CHECKING:
    import lance


_DISTANCE, _SCORE = "_distance", "_score"
_FUSED_FACTOR = 4
_FUSED_LEAST = 50


def is_hybrid(query: Query) -> bool:
    """Whether both a vector and text are searched for."""
    return is_vector_query(query) and query.full_text_query is not None


def scanner(dataset: lance.LanceDataset, query: Query) -> lance.LanceScanner:
    """The one scanner of a query that is not hybrid: vector search, full-text search or a plain scan."""
    if is_vector_query(query):
        return _vector_scanner(dataset, query)
    options = {"limit": query.k, "offset": query.offset, "with_row_id": query.with_row_id}
    if query.full_text_query is None:
        return dataset.scanner(**_common(query, None), **options, batch_size=batch_rows(dataset))
    text = full_text(dataset, query.full_text_query)
    return dataset.scanner(**_common(query, _SCORE), full_text_query=text, **options)


def check_size(dataset: lance.LanceDataset, query: Query, limit: int) -> None:
    """Refuse a search whose result takes more memory than the limit; the result of a scan is never whole in memory.

    Raises:
        InvalidInputError: Saying how large the result is.
    """
    wanted = query.k + (query.offset or 0)
    if is_hybrid(query):
        check_result(dataset, query, 2 * _to_fuse(query), limit)
    elif is_vector_query(query) or query.full_text_query is not None:
        check_result(dataset, query, wanted * max(1, len(query.vector.multi_vector or ())), limit)


def hybrid_scanners(dataset: lance.LanceDataset, query: Query) -> dict[str, lance.LanceScanner]:
    """The two scanners of a hybrid query, with row ids to join them by.

    Each finds more rows than are asked for: a row that both rank well should win over one that only one knows.
    """
    if is_batch(dataset, query):
        raise InvalidInputError("a hybrid query takes one vector, not several")
    wanted = _to_fuse(query)
    text = full_text(dataset, query.full_text_query)  # type: ignore[arg-type] # is_hybrid has checked it.
    return {
        "vector search": dataset.scanner(
            **_common(query, _DISTANCE), nearest=nearest(dataset, query, wanted), with_row_id=True
        ),
        "full-text search": dataset.scanner(
            **_common(query, _SCORE), full_text_query=text, limit=wanted, with_row_id=True
        ),
    }


def _to_fuse(query: Query) -> int:
    return max(_FUSED_FACTOR * (query.k + (query.offset or 0)), _FUSED_LEAST)


def _vector_scanner(dataset: lance.LanceDataset, query: Query) -> lance.LanceScanner:
    """Several vectors give ``k`` rows each, with their number in ``query_index``; then there is no overall limit.

    Lance cannot search for no rows: with ``k`` = 0 it searches for one.
    """
    if is_batch(dataset, query):
        if query.offset:
            raise InvalidInputError("'offset' cannot be used with several vectors: ask for each vector by itself")
        search = nearest(dataset, query, query.k)
        return dataset.scanner(**_common(query, _DISTANCE), nearest=search, with_row_id=query.with_row_id)
    search = nearest(dataset, query, query.k + (query.offset or 0))
    return dataset.scanner(
        **_common(query, _DISTANCE),
        nearest=search,
        limit=max(1, query.k),
        offset=query.offset,
        with_row_id=query.with_row_id,
    )


def _common(query: Query, rank: str | None) -> dict[str, Any]:
    """Filtering comes before searching unless asked otherwise: only so are there ``k`` results if as many match."""
    return {
        "columns": _columns(query, rank),
        "filter": shallow(query.filter),
        "prefilter": query.prefilter is not False,
        "fast_search": query.fast_search,
    }


def _columns(query: Query, rank: str | None) -> list[str] | dict[str, str] | None:
    """The columns to answer; the one that ranks is asked for by name, as Lance warns where it has to add it."""
    if query.columns is None:
        return None
    names, aliases = query.columns.column_names, query.columns.column_aliases
    for alias in aliases or ():
        check_new_name(alias)
    if names and aliases:
        raise InvalidInputError("'columns' must be names or aliases, not both: an alias may be a column's own name")
    if rank is not None and names and rank not in names:
        names = [*names, rank]
    if rank is not None and aliases and rank not in aliases:
        aliases = {**aliases, rank: rank}
    return names or (all_shallow(aliases) if aliases else None)
