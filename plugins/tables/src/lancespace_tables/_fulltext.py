"""The full-text part of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance.query import (
    BooleanQuery,
    BoostQuery,
    FullTextOperator,
    FullTextQuery,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lance_namespace import InvalidInputError

from lancespace.authoring import choose

if TYPE_CHECKING:
    import lance
    from lance_namespace_urllib3_client.models.fts_query import FtsQuery
    from lance_namespace_urllib3_client.models.match_query import MatchQuery as MatchModel
    from lance_namespace_urllib3_client.models.query_table_request_full_text_query import QueryTableRequestFullTextQuery

_ONE_OF = ("match", "phrase", "boost", "multi_match", "boolean")


def full_text(dataset: lance.LanceDataset, query: QueryTableRequestFullTextQuery) -> FullTextQuery | dict[str, Any]:
    """The ``full_text_query`` argument of a scanner.

    Raises:
        InvalidInputError: The query is not well formed, or leaves open which column is meant.
    """
    if (query.string_query is None) == (query.structured_query is None):
        raise InvalidInputError("'full_text_query' needs either 'string_query' or 'structured_query'")
    if query.string_query is not None:
        return {"query": query.string_query.query, "columns": query.string_query.columns or None}
    return _Builder(dataset).build(query.structured_query.query)  # type: ignore[union-attr] # Checked above.


class _Builder:
    """Turns the spec's query models into pylance's."""

    def __init__(self, dataset: lance.LanceDataset) -> None:
        self._dataset = dataset

    def build(self, query: FtsQuery) -> FullTextQuery:
        given = [kind for kind in _ONE_OF if getattr(query, kind) is not None]
        if len(given) != 1:
            raise InvalidInputError(f"a full-text query is exactly one of {', '.join(_ONE_OF)}, not {given or 'none'}")
        result: FullTextQuery = getattr(self, f"_{given[0]}")(getattr(query, given[0]))
        return result

    def _match(self, query: MatchModel) -> FullTextQuery:
        options = {"boost": query.boost, "fuzziness": query.fuzziness, "max_expansions": query.max_expansions}
        options["prefix_length"] = query.prefix_length
        given = {name: value for name, value in options.items() if value is not None}
        return MatchQuery(query.terms, self._column(query.column), operator=_operator(query.operator), **given)

    def _phrase(self, query: Any) -> FullTextQuery:
        return PhraseQuery(query.terms, self._column(query.column), slop=query.slop or 0)

    def _boost(self, query: Any) -> FullTextQuery:
        weight = 0.5 if query.negative_boost is None else query.negative_boost
        return BoostQuery(self.build(query.positive), self.build(query.negative), negative_boost=weight)

    def _boolean(self, query: Any) -> FullTextQuery:
        clauses = ((Occur.MUST, query.must), (Occur.MUST_NOT, query.must_not), (Occur.SHOULD, query.should))
        return BooleanQuery([(occur, self.build(one)) for occur, several in clauses for one in several])

    def _multi_match(self, query: Any) -> FullTextQuery:
        """One set of terms in several columns: pylance has no form for terms or options that differ by column."""
        matches: list[MatchModel] = query.match_queries
        if not matches:
            raise InvalidInputError("'multi_match' needs at least one match query")
        if any(match.fuzziness or match.prefix_length or match.max_expansions for match in matches):
            raise InvalidInputError("'multi_match' takes no fuzziness, prefix_length or max_expansions: use 'boolean'")
        if len({(match.terms, _operator(match.operator)) for match in matches}) != 1:
            raise InvalidInputError("'multi_match' needs the same terms and operator for every column: use 'boolean'")
        return MultiMatchQuery(
            matches[0].terms,
            [self._column(match.column) for match in matches],
            boosts=[1.0 if match.boost is None else float(match.boost) for match in matches],
            operator=_operator(matches[0].operator),
        )

    def _column(self, column: str | None) -> str:
        """The column that the query names, or the only one that has a full-text index."""
        if column is not None:
            return column
        indexes = [index for index in self._dataset.describe_indices() if index.index_type == "Inverted"]
        found: list[str] = sorted({name for index in indexes for name in index.field_names})
        if len(found) != 1:
            which = f"full-text indexes are on {', '.join(found)}" if found else "no column has a full-text index"
            raise InvalidInputError(f"name the 'column' of the full-text query: {which}")
        return found[0]


def _operator(name: str | None) -> FullTextOperator:
    return FullTextOperator[choose("operator", name, ("Or", "And")).upper()]
