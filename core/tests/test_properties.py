from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import Property, Settings, redact_url

DECLARED = (
    Property("root", "Where the catalog is", required=True, identifies=True),
    Property("manifest_enabled", "Whether to keep a manifest", type=bool, default=True),
    Property("limit", "How many", type=int, default=10),
    Property("timeout", "Seconds", type=float),
    Property("mode", "Which way", choices=("fast", "safe"), default="safe"),
    Property("token", "What to show at the door", secret=True, identifies=True),
    Property("storage.", "Options of the store"),
)


def settings(**given: Any) -> Settings:
    return Settings(DECLARED, {"root": "/data", **given}, owner="dir")


def refusal(**given: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        settings(**given)
    return str(caught.value)


def test_given_values_are_typed_and_others_have_their_defaults():
    assert dict(settings(limit="3", timeout="0.5", manifest_enabled="false", mode="fast")) == {
        "root": "/data",
        "manifest_enabled": False,
        "limit": 3,
        "timeout": 0.5,
        "mode": "fast",
        "token": None,
    }
    assert dict(settings())["limit"] == 10


@pytest.mark.parametrize("text", ["true", "TRUE", "1", "yes", "on", True])
def test_true(text: Any):
    assert settings(manifest_enabled=text)["manifest_enabled"] is True


@pytest.mark.parametrize("text", ["false", "False", "0", "no", "off", False])
def test_false(text: Any):
    assert settings(manifest_enabled=text)["manifest_enabled"] is False


def test_numbers_of_python_are_taken_where_a_number_is_meant():
    assert settings(limit=3, timeout=2)["timeout"] == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"manifest_enabled": "maybe"}, "dir: the property 'manifest_enabled' must be 'true' or 'false', not 'maybe'"),
        ({"limit": "ten"}, "dir: the property 'limit' must be a whole number, not 'ten'"),
        ({"limit": "1.5"}, "dir: the property 'limit' must be a whole number, not '1.5'"),
        ({"timeout": "soon"}, "dir: the property 'timeout' must be a number, not 'soon'"),
        ({"mode": "wild"}, "dir: the property 'mode' must be one of fast, safe, not 'wild'"),
        ({"root": None}, "dir: the property 'root' must be a string, not NoneType: put it in quotes"),
        ({"storage.retries": []}, "dir: the property 'storage.retries' must be a string, not list: put it in quotes"),
    ],
)
def test_ill_typed_values_are_refused(given: dict[str, Any], message: str):
    assert refusal(**given) == message


def test_unknown_property_is_refused_with_the_known_ones_and_a_guess():
    assert refusal(manifest_enable="true") == (
        "dir does not know the property 'manifest_enable'. Did you mean 'manifest_enabled'? "
        "Known: limit, manifest_enabled, mode, root, storage.*, timeout, token"
    )


def test_a_backend_without_properties_says_so():
    with pytest.raises(InvalidInputError, match="Known: none"):
        Settings((), {"anything": "x"}, owner="tiny")


@pytest.mark.parametrize("given", [{}, {"root": ""}])
def test_missing_property_is_named_with_what_it_is_for(given: dict[str, str]):
    with pytest.raises(InvalidInputError, match=r"dir needs the property 'root' \(Where the catalog is\)"):
        Settings(DECLARED, given, owner="dir")


def test_family_collects_what_has_its_prefix():
    checked = settings(**{"storage.region": "eu", "storage.a.b": "c"})

    assert checked.family("storage.") == {"region": "eu", "a.b": "c"}
    assert "storage.region" not in checked
    assert (checked.declares("storage."), checked.declares("storage.region")) == (True, False)


def test_the_bare_prefix_of_a_family_is_no_property():
    assert "does not know the property 'storage.'" in refusal(**{"storage.": "x"})


def test_repr_and_identity_show_no_secret():
    checked = settings(
        root="s3://user:hunter2@bucket/path", token="hunter2", **{"storage.secret_access_key": "hunter2"}
    )

    assert "hunter2" not in repr(checked)
    assert "storage.secret_access_key=***" in repr(checked)
    assert checked.identity() == "dir(root=s3://***@bucket/path, token=***)"


def test_a_refused_secret_is_not_in_the_message():
    with pytest.raises(InvalidInputError) as caught:
        Settings([Property("key", "Key", type=int, secret=True)], {"key": "hunter2"}, owner="dir")

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pass@host/x", "https://***@host/x"),
        ("https://host/x@y", "https://host/x@y"),
        ("/data/me@home", "/data/me@home"),
    ],
)
def test_redact_url(text: str, shown: str):
    assert redact_url(text) == shown


def test_paths_and_numbers_are_taken_as_their_text(tmp_path):
    given: dict[str, Any] = {"root": tmp_path, "storage.n": 5}
    settings = Settings([Property("root", ""), Property("storage.", "")], given, owner="x")
    assert settings["root"] == str(tmp_path)
    assert settings.family("storage.") == {"n": "5"}


def test_a_property_without_effect_is_accepted_with_a_warning():
    declared = [Property("old", "", ignored="use new"), Property("old.", "", ignored="there is none")]
    with pytest.warns(UserWarning, match="x ignores the property 'old': use new"):
        Settings(declared, {"old": "1"}, owner="x")
    with pytest.warns(UserWarning, match="x ignores the property 'old.a': there is none"):
        Settings(declared, {"old.a": "1"}, owner="x")
