"""Listings under a policy: full pages of what is visible, and tokens that do not tell what is not."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import InvalidInputError, ListTablesRequest, ListTablesResponse

from lancespace import Namespace
from lancespace.authoring import OPERATIONS
from lancespace_server import listings
from lancespace_server.authorization import AuthorizationWrapper
from plugins.server.tests.acting import Around, acting, policy, under

HIDDEN = [f"{letter}-hidden" for letter in "abcdefghij"]
VISIBLE = [f"{letter}-seen" for letter in "bdj"]


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    opened = under(policy(tmp_path, bob=("read", "crm crm$*-seen")))
    with acting("root"):
        opened.create_namespace("crm")
        for name in (*HIDDEN, *VISIBLE):
            opened.declare_table(["crm", name])
            opened.create_namespace(["crm", f"n-{name}"])
    return opened


def walk(ask: Any, field: str, limit: int | None) -> tuple[list[list[str]], list[str]]:
    """All pages, and all tokens."""
    pages: list[list[str]] = []
    tokens: list[str] = []
    token = None
    while True:
        page = ask(page_token=token, limit=limit)
        pages.append(getattr(page, field))
        token = page.page_token
        if not token:
            return pages, tokens
        tokens.append(token)


@pytest.mark.parametrize("chunk", [1, 2, 4, 1000])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100, None])
def test_pages_are_full_and_tokens_tell_nothing(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch, limit: int | None, chunk: int
):
    monkeypatch.setattr(listings, "_CHUNK", chunk)
    for ask, field, prefix in (
        (lambda **page: namespace.list_tables("crm", **page), "tables", ""),
        (lambda **page: namespace.list_namespaces("crm", **page), "namespaces", "n-"),
        (namespace.list_all_tables, "tables", "crm$"),
    ):
        with acting("bob"):
            pages, tokens = walk(ask, field, limit)

        names = [name for page in pages for name in page]
        assert names == [f"{prefix}{name}" for name in VISIBLE]
        assert all(len(page) == limit for page in pages[:-1])
        assert not [token for token in tokens if b"hidden" in base64.urlsafe_b64decode(token + "==")]


def test_a_stranger_learns_nothing(namespace: Namespace):
    with acting("stranger"):
        page = namespace.list_all_tables(limit=1)

    assert (page.tables, page.page_token) == ([], None)


class Foreign:
    """A backend whose tokens are the next name, as it is: nobody said that they may not be."""

    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        names = [name for name in sorted((*HIDDEN, *VISIBLE)) if name >= (request.page_token or "")]
        end = request.limit or 5
        return ListTablesResponse(tables=names[:end], page_token=names[end] if len(names) > end else None)


def asking(path: str, principal: str, key: str) -> Any:
    """The foreign backend, as somebody sees it through one of several workers."""
    wrapper = AuthorizationWrapper(Around({"authz.policy": path, "authz.token_key": key}, Foreign()))  # type: ignore[arg-type]

    def ask(page_token: str | None, limit: int | None) -> ListTablesResponse:
        request = ListTablesRequest(id=["crm"], page_token=page_token, limit=limit)
        with acting(principal):
            steps = wrapper.around(OPERATIONS["list_tables"], request)
            next(steps)
            with pytest.raises(StopIteration) as stopped:
                steps.send(Foreign().list_tables(request))
        assert request.page_token == page_token
        answer: ListTablesResponse = stopped.value.value
        return answer

    return ask


@pytest.mark.parametrize("limit", [1, 2, None])
def test_tokens_of_another_kind_are_sealed(tmp_path: Path, limit: int | None):
    path = policy(tmp_path, bob=("read", "crm crm$*-seen"))
    workers = [asking(path, "bob", "secret"), asking(path, "bob", "secret")]

    pages, tokens = walk(lambda **page: workers[len(page["page_token"] or "") % 2](**page), "tables", limit)

    assert [name for page in pages for name in page] == VISIBLE
    assert tokens
    assert not [token for token in tokens if "hidden" in token or b"hidden" in base64.urlsafe_b64decode(token[7:])]
    assert len({len(token) for token in tokens}) == 1
    with pytest.raises(InvalidInputError, match="not one that this server gave out"):
        asking(path, "bob", "another secret")(tokens[0], limit)
