from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lance_namespace import InvalidInputError

from lancespace.authoring import identifiers

FORBIDDEN = [*"/\\$", "\0", "\n", "\x1f", "\x7f", "\x85", "\ud800", "\u2028", "\u2029"]

names = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="/\\$."), min_size=1, max_size=60
)
dotted_names = names | st.builds("{}.{}".format, names, names)


@given(st.lists(names, max_size=4))
def test_dotted_text_and_list_are_the_same_identifier(parts: list[str]):
    assert identifiers.parse(".".join(parts)) == identifiers.parse(parts) == parts


@given(st.lists(dotted_names, max_size=4))
def test_join_and_split_are_inverse(parts: list[str]):
    joined = identifiers.join(parts)

    assert identifiers.split(joined) == parts
    assert joined.count(identifiers.DELIMITER) == max(0, len(parts) - 1)


@given(st.lists(dotted_names, min_size=1, max_size=4), st.lists(dotted_names, min_size=1, max_size=4))
def test_different_identifiers_join_differently(first: list[str], second: list[str]):
    assume(first != second)

    assert identifiers.join(first) != identifiers.join(second)


@given(st.lists(st.text(), max_size=5))
def test_validate_accepts_or_refuses_any_text(parts: list[str]):
    try:
        assert identifiers.validate(tuple(parts)) == tuple(parts)
    except InvalidInputError as error:
        assert "Invalid identifier" in str(error)  # noqa: PT017 - either outcome is right


@given(st.recursive(st.none() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)))
def test_parse_accepts_or_refuses_anything(thing: Any):
    try:
        assert all(isinstance(name, str) for name in identifiers.parse(thing))
    except InvalidInputError as error:
        assert "Invalid identifier" in str(error)  # noqa: PT017 - either outcome is right


@given(st.text())
def test_parse_accepts_or_refuses_any_text(text: str):
    try:
        assert ".".join(identifiers.parse(text)) == text
    except InvalidInputError:
        assert not text or not all(_is_plain(part) for part in text.split("."))


@pytest.mark.parametrize("character", FORBIDDEN, ids=ascii)
@given(before=names, after=names)
def test_forbidden_characters_are_refused_anywhere(character: str, before: str, after: str):
    for name in (character, character + after, before + character, before + character + after):
        with pytest.raises(InvalidInputError, match="contains"):
            identifiers.parse([name])


@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("a..b", "it has an empty name"),
        (".a", "it has an empty name"),
        ("a.", "it has an empty name"),
        ([""], "it has an empty name"),
        (["a", ""], "it has an empty name"),
        (["."], "'.' is not a name"),
        (["a", ".."], "'..' is not a name"),
        (5, "it must be a string or a list of names, not int"),
        ([["a"]], "every name must be a string, not list"),
        (["a", 1], "every name must be a string, not int"),
        (["a", None], "every name must be a string, not NoneType"),
        (["a/b"], "the name 'a/b' contains a slash"),
        (["a\\b"], "contains a backslash"),
        (["a$b"], "contains the delimiter '$'"),
        (["a\tb"], "contains a control character"),
        (["x" * 256], "is longer than 255 bytes"),
        (["é" * 128], "is longer than 255 bytes"),
        (["x" * 255] * 5, "it is longer than 1024 bytes when joined"),
    ],
)
def test_refusal_says_why_and_shows_a_right_one(identifier: Any, reason: str):
    with pytest.raises(InvalidInputError) as caught:
        identifiers.parse(identifier)

    assert reason in str(caught.value)
    assert "['sales', 'orders'] or 'sales.orders'" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_limits_are_inclusive():
    longest = [*["x" * 255] * 3, "y" * 254, "z"]

    assert len(identifiers.join(longest)) == identifiers.MAX_IDENTIFIER_BYTES
    with pytest.raises(InvalidInputError, match="1024 bytes"):
        identifiers.join([*longest[:4], "zz"])


@pytest.mark.parametrize("root", ["", [], ()])
def test_root_is_the_empty_identifier(root: str | list[str]):
    assert identifiers.parse(root) == []
    assert identifiers.join([]) == ""
    assert identifiers.split("") == []


@given(st.text(alphabet=string.ascii_letters + "$", min_size=1))
def test_split_refuses_what_join_never_makes(object_id: str):
    if "" in object_id.split("$"):
        with pytest.raises(InvalidInputError):
            identifiers.split(object_id)
    else:
        assert identifiers.join(identifiers.split(object_id)) == object_id


def _is_plain(name: str) -> bool:
    try:
        identifiers.validate((name,))
    except InvalidInputError:
        return False
    return True
