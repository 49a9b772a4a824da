"""Hybrid search: one ranking out of a vector search and a full-text search.

Distances and text scores have no common scale, so the two rankings are fused by rank (reciprocal rank fusion): a row's
relevance is the sum of ``1 / (60 + rank)`` over the rankings it is in, counted from 1. Rows that both searches find
come out on top. The answer has ``_distance`` and ``_score`` (null where a search did not find the row) and
``_relevance_score``; it is ranked in memory, as every ranking is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

_RANK_CONSTANT = 60
"""The value of the paper that introduced the method, and the default wherever it is used."""

_ROW_ID, _DISTANCE, _SCORE, _RELEVANCE = "_rowid", "_distance", "_score", "_relevance_score"


def fuse(vector_hits: pa.Table, text_hits: pa.Table, *, k: int, offset: int, with_row_id: bool) -> pa.Table:
    """The rows ``offset`` to ``offset + k`` of the fused ranking; both tables come best first and with row ids."""
    distances = _column(vector_hits, _DISTANCE)
    scores = _column(text_hits, _SCORE)
    relevance = _relevance(distances, scores)
    best = sorted(relevance, key=lambda row_id: (-relevance[row_id], row_id))[offset : offset + k]
    rows = pa.concat_tables([_without(vector_hits, _DISTANCE), _without(text_hits, _SCORE)])
    position = {row_id: at for at, row_id in reversed(list(enumerate(rows[_ROW_ID].to_pylist())))}
    answer = rows.take(pa.array([position[row_id] for row_id in best], pa.int64()))
    if not with_row_id:
        answer = _without(answer, _ROW_ID)
    for name, values in ((_DISTANCE, distances), (_SCORE, scores), (_RELEVANCE, relevance)):
        answer = answer.append_column(name, pa.array([values.get(row_id) for row_id in best], pa.float32()))
    return answer


def _relevance(*rankings: Iterable[int]) -> dict[int, float]:
    relevance: dict[int, float] = {}
    for ranking in rankings:
        for rank, row_id in enumerate(ranking, start=1):
            relevance[row_id] = relevance.get(row_id, 0.0) + 1.0 / (_RANK_CONSTANT + rank)
    return relevance


def _column(hits: pa.Table, name: str) -> dict[int, float]:
    """A column's values by row id, in the order of the ranking."""
    return dict(zip(hits[_ROW_ID].to_pylist(), hits[name].to_pylist(), strict=True))


def _without(table: pa.Table, name: str) -> pa.Table:
    return table.drop_columns([name])
