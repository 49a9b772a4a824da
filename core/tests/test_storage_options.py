from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace import InvalidInputError

from lancespace._storage.values import for_fsspec, for_lance
from lancespace.authoring import Option, OptionTable, boolean, duration, integer, url


def stands_for(style: str) -> dict[str, str]:
    if style not in {"virtual", "path"}:
        raise ValueError("must be 'virtual' or 'path'")
    return {"virtual": str(style == "virtual").lower()}


TABLE = OptionTable(
    "toy",
    (
        Option(
            "region", ("toy_default_region",), lance="toy_region", fsspec="client.region", environment=("TOY_REGION",)
        ),
        Option(
            "endpoint",
            lance=("toy_endpoint", "toy_url"),
            fsspec="url",
            type=url,
            environment=("TOY_URL_1", "TOY_URL_2"),
        ),
        Option("virtual", lance="toy_virtual", fsspec="client.style", type=boolean, fsspec_value=lambda on: on or None),
        Option("style", implies=stands_for, environment=("TOY_STYLE",)),
        Option("timeout", lance="toy_timeout", fsspec="client.timeout", type=duration),
        Option("retries", lance="toy_retries", fsspec="retries", type=integer),
        Option("file", lance="toy_file", fsspec="token", note="unused"),
        Option("tuning", lance="toy_tuning", note="fsspec has no such thing"),
        Option("bucket", ("toy_bucket",), refused="is not taken: the location names it"),
    ),
    credentials=(
        Option("key", lance="toy_key", fsspec="key", secret=True, environment=("TOY_KEY",), needs=("secret",)),
        Option("secret", lance="toy_secret", fsspec="pass", secret=True, environment=("TOY_SECRET",)),
        Option("token", lance="toy_token", fsspec="token", secret=True, environment=("TOY_TOKEN",)),
        Option("login", implies=lambda text: {"secret": text}, secret=True, environment=("TOY_LOGIN",)),
    ),
)

VARIABLES = [variable for option in TABLE.options.values() for variable in option.environment]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def refusal(options: dict[str, str], table: OptionTable = TABLE) -> str:
    with pytest.raises(InvalidInputError) as lance_says:
        table.for_lance(options)
    with pytest.raises(InvalidInputError) as fsspec_says:
        table.for_fsspec(options)
    assert str(lance_says.value) == str(fsspec_says.value)
    return str(lance_says.value)


@pytest.mark.parametrize("spelling", ["region", "toy_default_region", "toy_region", "TOY_REGION", "client.region"])
def test_every_spelling_reaches_both_sides(spelling: str):
    assert TABLE.for_lance({spelling: "x"}) == {"toy_region": "x"}
    assert TABLE.for_fsspec({spelling: "x"}) == {"client": {"region": "x"}}
    assert TABLE.resolve({spelling: "x"}) == {"region": "x"}


def test_nothing_given_is_nothing_told():
    assert TABLE.for_lance({}) == TABLE.for_fsspec({}) == TABLE.resolve({}) == {}


def test_values_are_text_for_pylance_and_typed_for_fsspec():
    options = {"virtual": "TRUE", "timeout": "1.5", "retries": "3", "endpoint": "http://host:1/"}
    assert TABLE.for_lance(options) == {
        "toy_virtual": "true",
        "toy_timeout": "1500ms",
        "toy_retries": "3",
        "toy_endpoint": "http://host:1",
        "toy_url": "http://host:1",
    }
    assert TABLE.for_fsspec(options) == {
        "client": {"style": True, "timeout": 1.5},
        "retries": 3,
        "url": "http://host:1",
    }


def test_a_converted_value_of_none_is_left_out():
    assert TABLE.for_fsspec({"virtual": "false"}) == {}
    assert TABLE.for_lance({"virtual": "false"}) == {"toy_virtual": "false"}


def test_what_is_shared():
    rows = (
        Option("region", lance="toy_region", fsspec="region", shared=True),
        Option("style", lance="toy_style", fsspec="style"),
    )
    told = {"toy_region": "x", "toy_style": "y", "toy_key": "z"}
    assert OptionTable("toy", rows).shared(told) == {"toy_region": "x"}
    with pytest.raises(ValueError, match="toy: 'region' is a credential"):
        OptionTable("toy", (), credentials=rows)


def test_an_option_may_stand_for_others():
    assert TABLE.for_lance({"style": "path"}) == {"toy_virtual": "false"}
    assert TABLE.for_lance({"style": "virtual", "virtual": "1"}) == {"toy_virtual": "true"}


def test_the_same_value_may_be_given_twice():
    assert TABLE.for_lance({"region": "x", "TOY_REGION": "x"}) == {"toy_region": "x"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"region": "x", "toy_region": "y"},
            "toy storage: option 'region' and option 'toy_region' set 'region' to different values: keep one.",
        ),
        (
            {"virtual": "true", "style": "path"},
            "toy storage: option 'virtual' and option 'style' set 'virtual' to different values: keep one.",
        ),
        ({"virtual": "maybe"}, "toy storage: option 'virtual' must be 'true' or 'false'."),
        ({"retries": "many"}, "toy storage: option 'retries' must be a whole number."),
        ({"timeout": "soon"}, "toy storage: option 'timeout' must be a duration such as '30s', '1m 30s' or '500ms'."),
        ({"toy_url": "host:1"}, "toy storage: option 'toy_url' must be a URL that begins with https:// or http://."),
        ({"style": "odd"}, "toy storage: option 'style' must be 'virtual' or 'path'."),
        ({"TOY_BUCKET": "b"}, "toy storage: option 'TOY_BUCKET' is not taken: the location names it."),
        ({"key": "k"}, "toy storage: option 'key' needs 'secret' too."),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, str], message: str):
    assert refusal(options) == message


def test_an_unknown_option_is_answered_with_the_nearest_and_the_known_names():
    assert refusal({"regoin": "x"}) == (
        "toy storage has no option 'regoin'. Did you mean 'region'? Known: endpoint, file, key, login, region, "
        "retries, secret, style, timeout, token, tuning, virtual."
    )
    assert refusal({"zzzzzz": "x"}, OptionTable("file", ())) == "file storage has no option 'zzzzzz'. Known: none."


def test_two_options_for_one_argument_exclude_each_other():
    with pytest.raises(InvalidInputError, match="option 'token' and option 'file' exclude each other: keep one"):
        TABLE.for_fsspec({"token": "t", "file": "f"})


def test_the_environment_sets_what_is_not_given_for_both_sides(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_REGION", "from-environment")
    monkeypatch.setenv("TOY_URL_2", "http://second")
    assert TABLE.for_lance({})["toy_region"] == "from-environment"
    assert TABLE.for_fsspec({}) == {"client": {"region": "from-environment"}, "url": "http://second"}
    monkeypatch.setenv("TOY_URL_1", "http://first")
    assert TABLE.for_fsspec({"region": "given"}) == {"client": {"region": "given"}, "url": "http://first"}


def test_an_ill_typed_variable_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_URL_1", "nowhere")
    assert refusal({}).startswith("toy storage: environment variable TOY_URL_1 must be a URL")


def test_secrets_of_the_environment_are_left_for_pylance_to_read_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_KEY", "k")
    monkeypatch.setenv("TOY_SECRET", "s")
    assert TABLE.for_lance({}) == {}
    assert TABLE.for_fsspec({}) == {"key": "k", "pass": "s"}


def test_what_a_variable_only_implies_pylance_has_to_be_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_LOGIN", "s")
    assert TABLE.for_lance({}) == {"toy_secret": "s"}


def test_what_is_given_wins_over_what_a_variable_implies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_STYLE", "path")
    assert TABLE.for_lance({}) == {"toy_virtual": "false"}
    assert TABLE.for_lance({"virtual": "true"}) == {"toy_virtual": "true"}


def test_a_variable_that_says_nothing_by_itself_is_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOY_KEY", "k")
    assert TABLE.for_fsspec({}) == {}


def test_given_credentials_are_not_mixed_with_those_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    options = {"key": "k", "secret": "s"}
    monkeypatch.setenv("TOY_SECRET", "another")
    assert TABLE.for_lance(options) == {"toy_key": "k", "toy_secret": "s"}
    monkeypatch.setenv("TOY_TOKEN", "t")
    assert refusal(options) == (
        "toy storage: option 'key' is given, but pylance or fsspec would mix it with the environment variable "
        "TOY_TOKEN: unset TOY_TOKEN, or give 'token' as an option too."
    )
    assert TABLE.for_lance({**options, "token": "mine"})["toy_token"] == "mine"


@given(
    st.sampled_from(["virtual", "retries", "timeout", "endpoint", "style", "bucket", "key"]),
    st.text(st.characters(categories=["Co"]), min_size=1),
)
def test_no_refusal_tells_the_value(name: str, hushed: str):
    assert hushed not in refusal({name: hushed})


def test_a_setting_does_not_show_its_value():
    assert "hush" not in repr(TABLE._settings({"secret": "hush"}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Option("a", lance="x", fsspec="x"), Option("b", ("A",), refused="no")], "'A' is claimed by both 'a' and 'b'"),
        ([Option("a", lance="x")], "only one of pylance and fsspec is told 'a'; note why"),
        ([Option("a", fsspec="x")], "only one of pylance and fsspec is told 'a'; note why"),
        (
            [Option("a", lance="x", fsspec="x", secret=True, shared=True)],
            "'a' is a credential: it cannot be shared",
        ),
        ([Option("a")], "neither pylance nor fsspec is told 'a'"),
    ],
)
def test_a_table_checks_its_rows(rows: list[Option], message: str):
    with pytest.raises(ValueError, match=f"toy: {message}"):
        OptionTable("toy", rows)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5),
        ("0.25", 0.25),
        ("30s", 30),
        ("500ms", 0.5),
        ("1m 30s", 90),
        ("1m30s", 90),
        ("2 min", 120),
        ("10secs", 10),
        ("1h", 3600),
        ("2hrs", 7200),
    ],
)
def test_durations(text: str, seconds: float):
    assert duration(text) == timedelta(seconds=seconds)
    assert for_fsspec(duration(text)) == seconds
    assert for_lance(duration(text)) == f"{round(seconds * 1000)}ms"


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1 2", "5 parsecs", "1e3"])
def test_what_is_no_duration(text: str):
    with pytest.raises(ValueError, match="must be a duration"):
        duration(text)


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), (3, "3"), ("x", "x")])
def test_values_for_pylance(value: Any, text: str):
    assert for_lance(value) == text
    assert for_fsspec(value) is value


def test_an_option_of_another_store_is_a_warning():
    with pytest.warns(UserWarning, match="toy storage ignores the option 'AWS_Region', which is one of another store"):
        assert TABLE.for_lance({"AWS_Region": "x", "region": "y"}) == {"toy_region": "y"}


def test_a_name_with_the_prefix_of_this_store_is_a_typing_error():
    table = OptionTable("S3", (Option("region", lance="aws_region", fsspec="region"),))
    assert refusal({"aws_regoin": "x"}, table).startswith("S3 storage has no option 'aws_regoin'. Did you mean")


def test_a_harmless_option_that_is_not_taken_is_a_warning():
    table = OptionTable("S3", (Option("bucket", refused="is not taken: the location names it", harmless=True),))
    with pytest.warns(UserWarning, match="S3 storage: option 'bucket' is not taken: the location names it"):
        assert table.for_lance({"bucket": "x"}) == {}
