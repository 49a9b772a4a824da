"""Pagination: walking a listing page by page loses nothing and repeats nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lancespace.authoring import OPERATIONS, Subject
from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers, for_each

_COUNT = 7
_NAMES = [f"n{number}" for number in range(_COUNT)]


@dataclass(frozen=True)
class _Listing:
    """How a listing is filled, changed and read."""

    names: Callable[[Any], list[Any]]
    """What one page holds."""
    add: Callable[[Client, str], Any]
    remove: Callable[[Client, Any], Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The request, but for the page."""


_TABLES = _Listing(
    names=lambda page: page.tables,
    add=lambda client, name: client("declare_table", id=[name]),
    remove=lambda client, name: client("drop_table", id=[name]),
)
_LISTINGS: Mapping[str, _Listing] = {
    "list_namespaces": _Listing(
        names=lambda page: page.namespaces,
        add=lambda client, name: client("create_namespace", id=[name]),
        remove=lambda client, name: client("drop_namespace", id=[name]),
        fields={"id": []},
    ),
    "list_tables": replace(_TABLES, fields={"id": []}),
    "list_all_tables": _TABLES,
    "list_table_versions": _Listing(
        names=lambda page: [version.version for version in page.versions],
        add=lambda client, _: client.example("insert_into_table"),
        fields={"descending": True},
    ),
    "list_table_tags": _Listing(
        names=lambda page: list(page.tags),
        add=lambda client, name: client("create_table_tag", tag=name, version=1),
        remove=lambda client, name: client("delete_table_tag", tag=name),
    ),
    "list_table_branches": _Listing(
        names=lambda page: list(page.branches),
        add=lambda client, name: client("create_table_branch", name=name),
        remove=lambda client, name: client("delete_table_branch", name=name),
    ),
    "list_table_indices": _Listing(
        names=lambda page: [index.index_name for index in page.indexes],
        add=lambda client, name: client("create_table_scalar_index", column="id", index_type="BITMAP", name=name),
        remove=lambda client, name: client("drop_table_index", index_name=name),
    ),
}


class PaginationTests(BackendFixtures):
    """PageToken, PageLimit."""

    @for_each(list(_LISTINGS))
    def test_pages_hold_everything_once(self, client: Client, operation: str) -> None:
        """PageToken: for any limit, the pages together hold every name exactly once, none more than the limit."""
        expected = _fill(client, operation)
        for limit in (1, 2, 3, _COUNT - 1, _COUNT, _COUNT + 1, 1000):
            pages = list(_walk(client, operation, limit))
            assert max(map(len, pages)) <= limit
            assert sorted(name for page in pages for name in page) == expected

    @for_each(list(_LISTINGS))
    def test_token_only_if_there_is_more(self, client: Client, operation: str) -> None:
        """PageToken: a page that does not hold the rest has a token; one with room left has none."""
        _fill(client, operation)
        fields = _LISTINGS[operation].fields
        assert client(operation, **fields, limit=_COUNT - 1).page_token
        assert not client(operation, **fields, limit=_COUNT + 1).page_token

    @for_each(name for name, listing in _LISTINGS.items() if listing.remove)
    def test_pages_while_names_come_and_go(self, client: Client, operation: str) -> None:
        """PageToken: names that are there all the time are seen exactly once, whatever happens between two pages."""
        listing = _LISTINGS[operation]
        expected = _fill(client, operation)
        seen: list[Any] = []
        gone: set[Any] = set()
        for number, page in enumerate(_walk(client, operation, 2)):
            seen += page
            if page:
                assert listing.remove is not None
                listing.remove(client, page[0])
                gone.add(page[0])
            for name in (f"a{number}", f"n{number}x", f"z{number}") if number < 2 else ():
                listing.add(client, name)
        stayed = [name for name in expected if name not in gone]
        assert sorted(name for name in seen if name in stayed) == stayed
        assert len(seen) == len(set(seen))

    @covers("list_table_versions")
    def test_pages_while_versions_come(self, client: Client) -> None:
        """ListTableVersions: versions made between two pages neither hide nor repeat the others, in either order."""
        for descending in (True, False):
            name = f"t{descending}"
            client.example("create_table", [name])
            for _ in range(4):
                client.example("insert_into_table", [name])
            seen: list[int] = []
            for number, page in enumerate(
                _walk(client, "list_table_versions", 2, {"id": [name], "descending": descending})
            ):
                seen += page
                if number == 0:
                    client.example("insert_into_table", [name])
            assert sorted(version for version in seen if version <= 5) == [1, 2, 3, 4, 5]
            assert len(seen) == len(set(seen))

    @for_each(list(_LISTINGS), "INVALID_INPUT")
    def test_bad_limit(self, table: Client, operation: str) -> None:
        """PageLimit: code 13 for an upper bound that no page can keep."""
        with raises("INVALID_INPUT"):
            table(operation, **_LISTINGS[operation].fields, limit=-1)

    @for_each(list(_LISTINGS), "INVALID_INPUT")
    def test_bad_token(self, table: Client, operation: str) -> None:
        """PageToken: code 13 for a token that the listing did not give out; anything else would lose names silently."""
        for token in ("no such token", "!"):
            with raises("INVALID_INPUT"):
                table(operation, **_LISTINGS[operation].fields, page_token=token, limit=2)

    def test_pages_of_child_namespace(self, client: Client) -> None:
        """ListTables: pages of a child namespace hold its own tables, and end where it ends."""
        for parent in ("a", "b", "ab"):
            client("create_namespace", id=[parent])
            for name in _NAMES:
                client("declare_table", id=[parent, name])
        for limit in (1, 3, _COUNT):
            pages = list(_walk(client, "list_tables", limit, {"id": ["a"]}))
            assert sorted(name for page in pages for name in page) == _NAMES


def _fill(client: Client, operation: str) -> list[Any]:
    """Have something to list, and return what it is, sorted."""
    listing = _LISTINGS[operation]
    if OPERATIONS[operation].subject is Subject.TABLE:
        client.example("create_table")
    if operation == "list_table_versions":
        for name in _NAMES[1:]:
            listing.add(client, name)
        return list(range(1, _COUNT + 1))
    for name in reversed(_NAMES):
        listing.add(client, name)
    return _NAMES


def _walk(client: Client, operation: str, limit: int, fields: dict[str, Any] | None = None) -> Iterator[list[Any]]:
    """The pages of a listing, as a caller walks them; fails rather than go round in circles."""
    listing = _LISTINGS[operation]
    token: str | None = None
    tokens: set[str] = set()
    while True:
        page = client(operation, **(fields or listing.fields), limit=limit, page_token=token)
        yield listing.names(page)
        token = page.page_token
        if not token:
            return
        assert token not in tokens, f"the token {token!r} was given out twice: a caller would never come to an end"
        tokens.add(token)
