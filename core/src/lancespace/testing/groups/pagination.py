"""Pagination: walking a listing page by page loses nothing and repeats nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.errors import raises
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import for_each, needs

_COUNT = 7
_NAMES = [f"n{number}" for number in range(_COUNT)]


@dataclass(frozen=True)
class _Listing:
    """How a listing is filled, changed and read."""

    fields: dict[str, Any]
    """The request, but for the page."""
    names: Callable[[Any], list[Any]]
    """What one page holds."""
    add: Callable[[Client, str], Any]
    add_with: tuple[str, ...]
    """The operations that :attr:`add` calls."""
    remove: Callable[[Client, Any], Any] | None = None
    remove_with: str | None = None
    needs_table: bool = True


_ON_TABLE: dict[str, Any] = {"id": ["t"]}

_LISTINGS: Mapping[str, _Listing] = {
    "list_namespaces": _Listing(
        fields={"id": []},
        names=lambda page: page.namespaces,
        add=lambda client, name: client("create_namespace", id=[name]),
        add_with=("create_namespace",),
        remove=lambda client, name: client("drop_namespace", id=[name]),
        remove_with="drop_namespace",
        needs_table=False,
    ),
    "list_tables": _Listing(
        fields={"id": []},
        names=lambda page: page.tables,
        add=lambda client, name: client("declare_table", id=[name]),
        add_with=("declare_table",),
        remove=lambda client, name: client("drop_table", id=[name]),
        remove_with="drop_table",
        needs_table=False,
    ),
    "list_all_tables": _Listing(
        fields={},
        names=lambda page: page.tables,
        add=lambda client, name: client("declare_table", id=[name]),
        add_with=("declare_table",),
        remove=lambda client, name: client("drop_table", id=[name]),
        remove_with="drop_table",
        needs_table=False,
    ),
    "list_table_versions": _Listing(
        fields={**_ON_TABLE, "descending": True},
        names=lambda page: [version.version for version in page.versions],
        add=lambda client, _: client.example("insert_into_table", ["t"]),
        add_with=("insert_into_table",),
    ),
    "list_table_tags": _Listing(
        fields=_ON_TABLE,
        names=lambda page: list(page.tags),
        add=lambda client, name: client("create_table_tag", **_ON_TABLE, tag=name, version=1),
        add_with=("create_table_tag",),
        remove=lambda client, name: client("delete_table_tag", **_ON_TABLE, tag=name),
        remove_with="delete_table_tag",
    ),
    "list_table_branches": _Listing(
        fields=_ON_TABLE,
        names=lambda page: list(page.branches),
        add=lambda client, name: client("create_table_branch", **_ON_TABLE, name=name),
        add_with=("create_table_branch",),
        remove=lambda client, name: client("delete_table_branch", **_ON_TABLE, name=name),
        remove_with="delete_table_branch",
    ),
    "list_table_indices": _Listing(
        fields=_ON_TABLE,
        names=lambda page: [index.index_name for index in page.indexes],
        add=lambda client, name: client(
            "create_table_scalar_index", **_ON_TABLE, column="id", index_type="BITMAP", name=name
        ),
        add_with=("create_table_scalar_index",),
        remove=lambda client, name: client("drop_table_index", **_ON_TABLE, index_name=name),
        remove_with="drop_table_index",
    ),
}

_FILLED = {
    operation: (*listing.add_with, *(("create_table",) if listing.needs_table else ()))
    for operation, listing in _LISTINGS.items()
}
_CHANGING = {
    operation: (*_FILLED[operation], listing.remove_with)
    for operation, listing in _LISTINGS.items()
    if listing.remove_with is not None
}


class PaginationTests(BackendFixtures):
    """PageToken, PageLimit."""

    @for_each(_FILLED)
    @needs()
    def test_pages_hold_everything_once(self, client: Client, operation: str) -> None:
        """PageToken: for any limit, the pages together hold every name exactly once, none more than the limit."""
        expected = _fill(client, operation)
        for limit in (1, 2, 3, _COUNT - 1, _COUNT, _COUNT + 1, 1000):
            pages = list(_walk(client, operation, limit))
            assert max(map(len, pages)) <= limit
            assert sorted(name for page in pages for name in page) == expected

    @for_each(_FILLED)
    @needs()
    def test_token_only_if_there_is_more(self, client: Client, operation: str) -> None:
        """PageToken: a page that does not hold the rest has a token; one with room left has none."""
        _fill(client, operation)
        fields = _LISTINGS[operation].fields
        assert client(operation, **fields, limit=_COUNT - 1).page_token
        assert not client(operation, **fields, limit=_COUNT + 1).page_token

    @for_each(_CHANGING)
    @needs()
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

    @for_each(["list_table_versions"])
    @needs("create_table", "insert_into_table")
    def test_pages_while_versions_come(self, client: Client, operation: str) -> None:
        """ListTableVersions: versions made between two pages neither hide nor repeat the others, in either order."""
        for descending in (True, False):
            name = f"t{descending}"
            client.example("create_table", [name])
            for _ in range(4):
                client.example("insert_into_table", [name])
            seen: list[int] = []
            for number, page in enumerate(_walk(client, operation, 2, {"id": [name], "descending": descending})):
                seen += page
                if number == 0:
                    client.example("insert_into_table", [name])
            assert sorted(version for version in seen if version <= 5) == [1, 2, 3, 4, 5]
            assert len(seen) == len(set(seen))

    @for_each(list(_LISTINGS), "INVALID_INPUT")
    @needs("create_table")
    def test_bad_limit(self, client: Client, operation: str) -> None:
        """PageLimit: code 13 for an upper bound that no page can keep."""
        client.example("create_table", ["t"])
        with raises("INVALID_INPUT"):
            client(operation, **_LISTINGS[operation].fields, limit=-1)

    @for_each(list(_LISTINGS), "INVALID_INPUT")
    @needs("create_table")
    def test_bad_token(self, client: Client, operation: str) -> None:
        """PageToken: code 13 for a token that the listing did not give out; anything else would lose names silently."""
        client.example("create_table", ["t"])
        for token in ("no such token", "!"):
            with raises("INVALID_INPUT"):
                client(operation, **_LISTINGS[operation].fields, page_token=token, limit=2)

    @needs("create_namespace", "declare_table", "list_tables")
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
    if listing.needs_table:
        client.example("create_table", ["t"])
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
