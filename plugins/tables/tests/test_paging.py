from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace import InvalidInputError

from lancespace.authoring import page, paginate

NAMES = st.lists(st.text(max_size=8), unique=True, max_size=30).map(sorted)


def all_pages(names: list[str], limit: int) -> list[list[str]]:
    shown, token = paginate(names, None, limit)
    pages = [shown]
    while token is not None:
        shown, token = paginate(names, token, limit)
        pages.append(shown)
    return pages


@given(NAMES, st.integers(min_value=1, max_value=40))
def test_pages_lose_and_repeat_nothing_for_any_limit(names, limit):
    pages = all_pages(names, limit)
    assert [name for shown in pages for name in shown] == names
    assert all(len(shown) == limit for shown in pages[:-1])
    assert len(pages) == max(1, -(-len(names) // limit))


@given(NAMES, st.integers(min_value=1, max_value=10), st.data())
def test_names_that_come_and_go_between_pages_hide_and_repeat_no_other(names, limit, data):
    shown, token = paginate(names, None, limit)
    removed = set(data.draw(st.lists(st.sampled_from(names)))) if names else set()
    added = set(data.draw(st.lists(st.text(max_size=8))))
    changed = sorted((set(names) - removed) | added)
    rest = paginate(changed, token, None)[0] if token else []
    assert not set(shown) & set(rest)
    assert (set(names) - removed) <= set(shown) | set(rest)


def test_without_a_limit_everything_comes_at_once():
    assert paginate(["a", "b"], None, None) == (["a", "b"], None)


def test_descending_numbers():
    shown, token = page([3, 2, 1], lambda n: n, None, 2, descending=True)
    assert shown == [3, 2]
    assert page([4, 3, 2, 1], lambda n: n, token, 2, descending=True) == ([1], None)


def test_a_limit_of_zero_is_an_empty_page_and_no_token():
    assert paginate(["a"], None, 0) == ([], None)


def test_a_negative_limit_is_refused():
    with pytest.raises(InvalidInputError, match="limit must be at least 0, not -1"):
        paginate(["a"], None, -1)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "token", ["!", "abc", "é", encoded({"a": 1}), encoded(["0", "a"]), encoded(["1", True]), encoded(["1"])]
)
def test_a_token_that_nobody_gave_out_is_refused(token):
    with pytest.raises(InvalidInputError, match="leave it out to start from the first page"):
        paginate(["a"], token, 1)


def test_a_token_of_another_listing_is_refused():
    _, token = page([1, 2], lambda n: n, None, 1)
    with pytest.raises(InvalidInputError, match="not one that this listing gave out"):
        paginate(["a"], token, 1)
